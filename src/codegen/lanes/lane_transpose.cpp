#include "codegen/lanes/lane_transpose.hpp"

#include <algorithm>

#include "codegen/emit/loop_nest.hpp"

namespace apsis::detail {
namespace {

/// Elements of a block's side: a register's, or the packet's lanes if these are fewer.
int block_side(const Builder& b, Dtype dtype, int lanes) {
  return std::min(lanes, b.vector_bytes() / static_cast<int>(item_size(dtype)));
}

/// Calls `block(first, apart, packet)` for each square of `side` lanes, the first of them `first`, and as
/// many elements: where the lanes' elements are, and where those of the packet.
template <class Apart, class Packet, class Block>
void each_block(Builder& b, const LaneArrays& a, Apart all_apart, Packet all_packet, Block&& block) {
  const int lanes = b.lanes_of(a.ids), side = block_side(b, a.dtype, lanes);
  const auto item = static_cast<std::int64_t>(item_size(a.dtype));
  b.set_lanes(lanes);
  const Value starts = b.mul(a.ids, b.splat(b.index(a.size * item)));
  for (int first = 0; first < lanes; first += side) {
    std::vector<Apart> rows;
    b.set_lanes(1);
    for (int i = 0; i < side; ++i) rows.push_back(b.offset(all_apart, b.extract(starts, first + i)));
    CountedLoop loop(b, a.size, side);
    const Value bytes = b.mul(loop.index(), b.index(item));
    const Packet packet =
        b.offset(b.offset(all_packet, first * item), b.mul(loop.index(), b.index(item * lanes)));
    for (Apart& row : rows) row = b.offset(row, bytes);
    block(first, rows, packet);
    loop.close();
  }
}

/// The array of one lane: its elements neighbours in one place, with gaps in the other.
template <class Apart, class Packet, class Copy>
void copy_lane(Builder& b, const LaneArrays& a, Apart all_apart, Packet all_packet, Value lane, Copy&& copy) {
  const int lanes = b.lanes_of(a.ids);
  const auto item = static_cast<std::int64_t>(item_size(a.dtype));
  b.set_lanes(1);
  const Apart apart = b.offset(all_apart, b.mul(b.extract(a.ids, lane), b.index(a.size * item)));
  const Packet packet = b.offset(all_packet, b.mul(lane, b.index(item)));
  copy(View::contiguous({a.size}), apart, View{{a.size}, {lanes}, 0}, packet);
}

/// `one(lane)` for the lanes of `mask` where they are few, as when one lane ends and the next takes its slot;
/// else `all()`, which reads and writes each row of the packet once.
template <class One, class All>
void for_lanes(Builder& b, Value mask, One&& one, All&& all) {
  const int lanes = b.lanes_of(mask);
  const Value bits = b.mask_bits(mask);
  b.set_lanes(1);
  const Value few = b.compare(Compare::Le, b.population_count(bits), b.index(lanes / 4));
  if_else(
      b, few, [&] { each_bit(b, bits, one); }, all, Likely::True);
}

void copy_elements(Builder& b, const LaneArrays& a, const Access& from, const Sink& to) {
  LoopNest nest(b, {a.size}, {from}, {&to, 1}, block_side(b, a.dtype, b.lanes_of(a.ids)));
  nest.open();
  nest.store(0, nest.load(0));
  nest.close();
}

}  // namespace

bool transposes_lanes(const Builder& b, Dtype dtype, std::int64_t size, int lanes) {
  const bool whole_words = dtype != Dtype::Bool && !is_complex(dtype) && item_size(dtype) >= 4;
  return whole_words && lanes > 1 && size >= block_side(b, dtype, lanes);
}

void put_side_by_side(Builder& b, const LaneArrays& a, ConstPointer all_apart, Pointer all_packet,
                      Value mask) {
  const std::int64_t next = static_cast<std::int64_t>(item_size(a.dtype)) * b.lanes_of(a.ids);
  const auto all = [&] {
    each_block(b, a, all_apart, all_packet, [&](int, const std::vector<ConstPointer>& apart, Pointer packet) {
      std::vector<Value> rows;
      b.set_lanes(static_cast<int>(apart.size()));
      for (ConstPointer p : apart) rows.push_back(b.load(p, a.dtype));
      transpose_square(b, rows);
      for (std::size_t k = 0; k < rows.size(); ++k)
        b.store(b.offset(packet, static_cast<std::int64_t>(k) * next), rows[k]);
      b.set_lanes(1);
    });
  };
  if (!mask.handle) return all();
  for_lanes(
      b, mask,
      [&](Value lane) {
        copy_lane(b, a, all_apart, all_packet, lane,
                  [&](View whole, ConstPointer from, View gaps, Pointer to) {
                    copy_elements(b, a, {whole, from, a.dtype}, {gaps, to, a.dtype, 1, {}});
                  });
      },
      all);
}

void put_apart(Builder& b, const LaneArrays& a, ConstPointer all_packet, Pointer all_apart, Value mask) {
  const std::int64_t next = static_cast<std::int64_t>(item_size(a.dtype)) * b.lanes_of(a.ids);
  const auto all = [&] {
    each_block(b, a, all_apart, all_packet,
               [&](int first, const std::vector<Pointer>& apart, ConstPointer packet) {
                 std::vector<Value> rows;
                 b.set_lanes(static_cast<int>(apart.size()));
                 for (std::size_t k = 0; k < apart.size(); ++k)
                   rows.push_back(b.load(b.offset(packet, static_cast<std::int64_t>(k) * next), a.dtype));
                 transpose_square(b, rows);
                 for (std::size_t i = 0; i < rows.size(); ++i)
                   b.masked_store(apart[i], rows[i], b.splat(b.extract(mask, first + static_cast<int>(i))));
                 b.set_lanes(1);
               });
  };
  for_lanes(
      b, mask,
      [&](Value lane) {
        copy_lane(b, a, all_apart, all_packet, lane,
                  [&](View whole, Pointer to, View gaps, ConstPointer from) {
                    copy_elements(b, a, {gaps, from, a.dtype}, {whole, to, a.dtype, 1, {}});
                  });
      },
      all);
}

}  // namespace apsis::detail
