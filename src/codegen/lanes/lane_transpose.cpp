#include "codegen/lanes/lane_transpose.hpp"

#include <algorithm>
#include <string>

#include "codegen/emit/loop_nest.hpp"

namespace apsis::detail {
namespace {

/// Elements of a block's side: a register's, or the packet's lanes if these are fewer.
int block_side(const Builder& b, Dtype dtype, int lanes) {
  return std::min(lanes, b.vector_bytes() / static_cast<int>(item_size(dtype)));
}

/// Arrays of the lanes `ids` in their two places, and of which lanes they are copied.
template <class Apart, class Packet>
struct LaneCopy {
  Builder& b;
  Value ids, size;  // of an array, a scalar I64
  Dtype dtype;
  Apart all_apart;
  Packet all_packet;
  Value mask;

  std::int64_t item() const { return static_cast<std::int64_t>(item_size(dtype)); }
  int lanes() const { return b.lanes_of(ids); }
  int side() const { return block_side(b, dtype, lanes()); }
  /// From an element of a lane to the next, in the packet.
  std::int64_t next() const { return item() * lanes(); }

  /// Calls `block(first, apart, packet)` for each square of `side` lanes, the first of them `first`, and as
  /// many elements: where the lanes' elements are, and where those of the packet.
  template <class Block>
  void each_block(Block&& block) {
    b.set_lanes(1);
    const Value bytes_of_array = b.mul(size, b.index(item()));
    b.set_lanes(lanes());
    const Value starts = b.mul(ids, b.splat(bytes_of_array));
    for (int first = 0; first < lanes(); first += side()) {
      std::vector<Apart> rows;
      b.set_lanes(1);
      for (int i = 0; i < side(); ++i) rows.push_back(b.offset(all_apart, b.extract(starts, first + i)));
      CountedLoop loop(b, size, side());
      const Value bytes = b.mul(loop.index(), b.index(item()));
      const Packet packet =
          b.offset(b.offset(all_packet, first * item()), b.mul(loop.index(), b.index(next())));
      for (Apart& row : rows) row = b.offset(row, bytes);
      block(first, rows, packet);
      loop.close();
    }
  }

  /// Calls `part(apart, packet)` for so many elements of one lane: neighbours in one place, with gaps in the
  /// other.
  template <class Part>
  void each_part(Value lane, Part&& part) {
    b.set_lanes(1);
    const Apart apart = b.offset(all_apart, b.mul(b.extract(ids, lane), b.mul(size, b.index(item()))));
    const Packet packet = b.offset(all_packet, b.mul(lane, b.index(item())));
    CountedLoop loop(b, size, side());
    part(b.offset(apart, b.mul(loop.index(), b.index(item()))),
         b.offset(packet, b.mul(loop.index(), b.index(next()))));
    loop.close();
  }

  /// `one(lane)` for the lanes of the mask where they are few, as when one lane ends and the next takes its
  /// slot; else `all()`, which reads and writes each row of the packet once.
  template <class One, class All>
  void for_lanes(One&& one, All&& all) {
    const Value bits = b.mask_bits(mask);
    b.set_lanes(1);
    const Value few = b.compare(Compare::Le, b.population_count(bits), b.index(lanes() / 4));
    if_else(
        b, few, [&] { each_bit(b, bits, one); }, all, Likely::True);
  }
};

void write_side_by_side(LaneCopy<ConstPointer, Pointer> copy) {
  Builder& b = copy.b;
  const auto all = [&] {
    copy.each_block([&](int, const std::vector<ConstPointer>& apart, Pointer packet) {
      const std::vector<Value> rows = load_transposed(b, apart, copy.dtype);
      for (std::size_t k = 0; k < rows.size(); ++k)
        b.store(b.offset(packet, static_cast<std::int64_t>(k) * copy.next()), rows[k]);
      b.set_lanes(1);
    });
  };
  if (!copy.mask.handle) return all();
  const auto one = [&](Value lane) {
    copy.each_part(lane, [&](ConstPointer from, Pointer to) {
      b.set_lanes(copy.side());
      const Value elements = b.load(from, copy.dtype);
      b.set_lanes(1);
      for (int k = 0; k < copy.side(); ++k) b.store(b.offset(to, k * copy.next()), b.extract(elements, k));
    });
  };
  copy.for_lanes(one, all);
}

void write_apart(LaneCopy<Pointer, ConstPointer> copy) {
  Builder& b = copy.b;
  const auto all = [&] {
    copy.each_block([&](int first, const std::vector<Pointer>& apart, ConstPointer packet) {
      std::vector<ConstPointer> lying;
      for (std::size_t k = 0; k < apart.size(); ++k)
        lying.push_back(b.offset(packet, static_cast<std::int64_t>(k) * copy.next()));
      const std::vector<Value> rows = load_transposed(b, lying, copy.dtype);
      for (std::size_t i = 0; i < rows.size(); ++i)
        b.masked_store(apart[i], rows[i], b.splat(b.extract(copy.mask, first + static_cast<int>(i))));
      b.set_lanes(1);
    });
  };
  const auto one = [&](Value lane) {
    copy.each_part(lane, [&](Pointer to, ConstPointer from) {
      b.set_lanes(copy.side());
      Value elements = b.constant(copy.dtype, 0);
      b.set_lanes(1);
      for (int k = 0; k < copy.side(); ++k)
        elements = b.insert(elements, k, b.load_element(b.offset(from, k * copy.next()), copy.dtype));
      b.store(to, elements);
    });
  };
  copy.for_lanes(one, all);
}

/// Writes the copying of arrays so large that a call costs nothing beside it as a function of the module,
/// once for all arrays of as many lanes.
template <class Apart, class Packet>
void write_shared(Lowering& lowering, const char* name, const LaneArrays& a, Apart apart, Packet packet,
                  Value mask, void (*write)(LaneCopy<Apart, Packet>)) {
  constexpr std::int64_t large = 4;  // blocks
  Builder& b = lowering.b;
  const int lanes = b.lanes_of(a.ids);
  const Value size = b.index(a.size);
  if (!mask.handle || a.size < large * block_side(b, a.dtype, lanes))
    return write({b, a.ids, size, a.dtype, apart, packet, mask});
  Function& function =
      lowering
          .lane_copies[std::string(name) + '.' + std::string(name_of(a.dtype)) + 'x' + std::to_string(lanes)];
  if (!function.handle) {
    const Type parameters[] = {
        pointer_type, pointer_type, {Dtype::I64, 1}, {Dtype::I64, lanes}, {Dtype::Bool, lanes}};
    function = b.declare(name, parameters, {}, false);
    b.begin(function);
    write({b, b.parameter(3), b.parameter(2), a.dtype, b.pointer_parameter(0), b.pointer_parameter(1),
           b.parameter(4)});
    b.return_values({});
    b.end();
  }
  const Operand arguments[] = {apart, packet, size, a.ids, mask};
  b.call(function, arguments, {});
  b.set_lanes(1);
}

}  // namespace

bool transposes_lanes(const Builder& b, Dtype dtype, std::int64_t size, int lanes) {
  const bool whole_words = dtype != Dtype::Bool && !is_complex(dtype) && item_size(dtype) >= 4;
  return whole_words && lanes > 1 && size >= block_side(b, dtype, lanes);
}

void put_side_by_side(Lowering& lowering, const LaneArrays& arrays, ConstPointer apart, Pointer packet,
                      Value mask) {
  write_shared(lowering, "side_by_side", arrays, apart, packet, mask, write_side_by_side);
}

void put_apart(Lowering& lowering, const LaneArrays& arrays, ConstPointer packet, Pointer apart, Value mask) {
  write_shared(lowering, "apart", arrays, apart, packet, mask, write_apart);
}

}  // namespace apsis::detail
