#include "codegen/lane_transpose.hpp"

#include <algorithm>

#include "codegen/lane_loop.hpp"
#include "codegen/loop_nest.hpp"

namespace apsis::detail {
namespace {

/// Elements of a block's side: a register's, or the packet's lanes if these are fewer.
int block_side(const Builder& b, Dtype dtype, int lanes) {
  return std::min(lanes, b.vector_bytes() / static_cast<int>(item_size(dtype)));
}

/// A square of vectors; each stage swaps the halves of ever smaller blocks across the diagonal.
void transpose(Builder& b, std::vector<Value>& rows) {
  const int side = static_cast<int>(rows.size());
  std::vector<int> low(rows.size()), high(rows.size());
  for (int step = side / 2; step > 0; step /= 2) {
    for (int j = 0; j < side; ++j) {
      const bool second = (j & step) != 0;
      low[static_cast<std::size_t>(j)] = second ? side + j - step : j;
      high[static_cast<std::size_t>(j)] = second ? side + j : j + step;
    }
    for (int i = 0; i < side; ++i) {
      if (i & step) continue;
      Value& x = rows[static_cast<std::size_t>(i)];
      Value& y = rows[static_cast<std::size_t>(i + step)];
      const Value upper = b.shuffle(x, y, low);
      y = b.shuffle(x, y, high);
      x = upper;
    }
  }
}

/// Calls `block(first, apart, packet)` for each square of `side` lanes, the first of them `first`, and as
/// many elements: where the lanes' elements are, and where those of the packet.
template <class Block>
void each_block(Builder& b, const LaneArrays& a, Block&& block) {
  const int lanes = b.lanes_of(a.ids), side = block_side(b, a.dtype, lanes);
  const auto item = static_cast<std::int64_t>(item_size(a.dtype));
  b.set_lanes(lanes);
  const Value starts = b.mul(a.ids, b.splat(b.index(a.size * item)));
  for (int first = 0; first < lanes; first += side) {
    std::vector<Pointer> rows;
    b.set_lanes(1);
    for (int i = 0; i < side; ++i) rows.push_back(b.offset(a.apart, b.extract(starts, first + i)));
    CountedLoop loop(b, a.size, side);
    const Value bytes = b.mul(loop.index(), b.index(item));
    const Pointer packet =
        b.offset(b.offset(a.packet, first * item), b.mul(loop.index(), b.index(item * lanes)));
    for (Pointer& row : rows) row = b.offset(row, bytes);
    block(first, rows, packet);
    loop.close();
  }
}

/// The array of one lane, into the packet or out of it.
void copy_lane(Builder& b, const LaneArrays& a, Value lane, bool into_packet) {
  const int lanes = b.lanes_of(a.ids);
  const auto item = static_cast<std::int64_t>(item_size(a.dtype));
  b.set_lanes(1);
  const Pointer apart = b.offset(a.apart, b.mul(b.extract(a.ids, lane), b.index(a.size * item)));
  const Pointer packet = b.offset(a.packet, b.mul(lane, b.index(item)));
  const Access whole{View::contiguous({a.size}), apart, a.dtype},
      gaps{{{a.size}, {lanes}, 0}, packet, a.dtype};
  LoopNest nest(b, {a.size}, {into_packet ? gaps : whole, into_packet ? whole : gaps},
                block_side(b, a.dtype, lanes));
  nest.open();
  nest.store(0, nest.load(1));
  nest.close();
}

}  // namespace

bool transposes_lanes(const Builder& b, Dtype dtype, std::int64_t size, int lanes) {
  const bool whole_words = dtype != Dtype::Bool && !is_complex(dtype) && item_size(dtype) >= 4;
  return whole_words && lanes > 1 && size >= block_side(b, dtype, lanes);
}

void put_side_by_side(Builder& b, const LaneArrays& a, Value mask) {
  const std::int64_t next = static_cast<std::int64_t>(item_size(a.dtype)) * b.lanes_of(a.ids);
  const auto all = [&] {
    each_block(b, a, [&](int, const std::vector<Pointer>& apart, Pointer packet) {
      std::vector<Value> rows;
      b.set_lanes(static_cast<int>(apart.size()));
      for (Pointer p : apart) rows.push_back(b.load(p, a.dtype));
      transpose(b, rows);
      for (std::size_t k = 0; k < rows.size(); ++k)
        b.store(b.offset(packet, static_cast<std::int64_t>(k) * next), rows[k]);
      b.set_lanes(1);
    });
  };
  if (!mask.handle) return all();
  for_lanes(
      b, mask, [&](Value lane) { copy_lane(b, a, lane, true); }, all);
}

void put_apart(Builder& b, const LaneArrays& a, Value mask) {
  const std::int64_t next = static_cast<std::int64_t>(item_size(a.dtype)) * b.lanes_of(a.ids);
  const auto all = [&] {
    each_block(b, a, [&](int first, const std::vector<Pointer>& apart, Pointer packet) {
      std::vector<Value> rows;
      b.set_lanes(static_cast<int>(apart.size()));
      for (std::size_t k = 0; k < apart.size(); ++k)
        rows.push_back(b.load(b.offset(packet, static_cast<std::int64_t>(k) * next), a.dtype));
      transpose(b, rows);
      for (std::size_t i = 0; i < rows.size(); ++i)
        b.masked_store(apart[i], rows[i], b.splat(b.extract(mask, first + static_cast<int>(i))));
      b.set_lanes(1);
    });
  };
  for_lanes(
      b, mask, [&](Value lane) { copy_lane(b, a, lane, false); }, all);
}

}  // namespace apsis::detail
