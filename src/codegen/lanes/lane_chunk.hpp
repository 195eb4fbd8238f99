#pragma once

// A chunk of the lanes of a map_lanes, while the function that runs it is written: what the function is
// given, and what it makes. Lanes run in packets of `width`, one vector lane each.

#include "codegen/emit/list_access.hpp"
#include "codegen/emit/region.hpp"
#include "codegen/lanes/outer_sums.hpp"
#include "ir/loop.hpp"
#include "passes/split_lanes.hpp"

namespace apsis::detail {

class LaneChunk {
 public:
  LaneChunk(Lowering& writer, const MapLanesParams& params, LaneSplit parts, int lanes);

  Lowering& lowering;
  Builder& b;
  const LaneSplit split;
  int width;
  OuterSums outer;           // taken out of the loop
  Value first, last;         // the lanes of the chunk
  std::vector<Place> known;  // by value of the region: what is the same for all lanes, and the loop's results

  /// The loop, its body without the sums of `outer`.
  Loop loop_parts() const;
  /// Whether each lane has this operand of the loop in one piece.
  bool lies_apart(std::size_t operand) const;
  /// At the start of the function, whose parameters are the context, a table of the operands' elements and
  /// then the results', and two lanes.
  void enter();
  /// From here on the packet's lanes are `ids`: what errors call them.
  void note_lanes(Value ids);

  /// The inputs of what comes before or after the loop, for the lanes `ids`; `mask`: those that matter.
  /// `passed_on`, by input: those that nobody reads, each lane's array in one piece. `first`, if it is given:
  /// the lanes that matter follow each other from it on.
  void bind(Region& region, const GraphPart& part, Value ids, Value mask = {},
            std::span<const char> passed_on = {}, Value first = {});
  /// A list whose header is at `list`, of operand v.
  Place list_place(ValueId v, ConstPointer list);
  /// Where output i of lane `id` is to be, at one lane.
  Place target(std::size_t i, Value id);
  void store_outputs(Region& region, Value ids, Value mask);
  /// Output i, a list, of one lane.
  void store_list(Region& region, std::size_t i, Value id);

  /// Where the lists of a mapped operand, or of a result, are: a table.
  Pointer lists_of_operand(ValueId v) { return table_of(in_[v]); }
  Pointer lists_of_result(std::size_t i) { return table_of(out_[i]); }
  /// The chunk's entry in a table: that of its first packet.
  Pointer entry_of_chunk(Pointer table);

  template <class Address>
  Address element_address(Address base, Value index, std::int64_t bytes) {
    return b.offset(base, b.mul(index, b.index(bytes)));
  }
  Value splat_to_width(Value v);
  /// Ids that may be read: those of slots without a lane may lie beyond the chunk.
  Value safe_ids(Value ids);
  bool in_registers(const Aval& aval) const {
    return detail::in_registers(aval, lowering.options().register_limit);
  }

 private:
  void load_shared();
  void note_nest();
  Place input(ValueId v, Value ids, Value mask, Value first);
  Place passed_on_input(ValueId v, Value ids);
  Place lasting(Region& region, std::size_t i);
  Pointer table_of(ConstPointer value) { return b.load_pointer(b.offset(value, offsetof(ListValue, list))); }
  bool is_mapped(ValueId v) const { return params_.in_axes[v] >= 0; }

  const MapLanesParams& params_;
  std::vector<Pointer> in_, out_;
  Pointer lanes_;  // where the numbers of the packet's lanes are kept for effects; none if there are none
};

}  // namespace apsis::detail
