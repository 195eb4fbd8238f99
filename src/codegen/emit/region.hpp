#pragma once

// Writes the code of one Graph: a program, a loop's body or condition, a branch. All of it is written for a
// number of lanes: 1, or that of a packet, in which every lane runs the region on values of its own.

#include "codegen/emit/loop_nest.hpp"
#include "codegen/emit/lowering.hpp"
#include "codegen/emit/target.hpp"
#include "codegen/plan/schedule.hpp"
#include "ir/regions.hpp"
#include "passes/split_lanes.hpp"

namespace apsis::detail {

struct BranchOperand;
struct FusedLoop;
struct Placement;
enum class OutOfBounds : std::uint8_t;

class Region {
 public:
  /// `mask`: which lanes are active; no handle = all. Nothing that outlives the region is written in lanes at
  /// rest: see target.hpp.
  Region(Lowering& lowering, const Graph& graph, int lanes = 1, Value mask = {});
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  /// Before `run`: where the inputs are, and where outputs should be made if that can be (memory only).
  /// An input that the region does not read is not held: its owner may overwrite it.
  void bind_input(ValueId input, Place place) {
    if (uses_[input] > 0) places_[input] = std::move(place);
  }
  void hint_output(std::size_t output, const Place& target);
  /// Loop bodies: writes the equations that depend on the marked inputs only; what they make is kept.
  void run_invariant(std::span<const char> inputs);
  /// The lanes that are active from here on.
  void set_mask(Value mask) { mask_ = mask; }
  void run();
  /// After `run`: output i, where it happens to be.
  const Place& output(std::size_t i) const { return places_[graph_.outputs()[i]]; }
  /// After `run`: puts output i into memory, if it was not made there.
  void write_output(std::size_t i, const Place& target);

  // What the parts of the lowering work with.
  Lowering& lowering() { return lowering_; }
  int lanes() const { return lanes_; }
  Value mask() const { return mask_; }
  bool in_registers(const Aval& aval) const {
    return detail::in_registers(aval, lowering_.options().register_limit);
  }

  /// A place's elements as values; memory is loaded.
  std::vector<Value> registers(const Place& place, const Aval& aval);
  /// The elements of one place in strided memory; registers are stored to a new buffer.
  Place in_memory(const Place& place, const Aval& aval);
  /// The same in row-major order without gaps.
  Place contiguous(const Place& place, const Aval& aval);
  /// New memory for a value, with `lanes` copies of each element.
  Destination allocate(const Aval& aval, int lanes);
  /// Where the result v is to be made.
  Destination destination(ValueId v, int lanes);
  /// Whether somebody reads the place's elements of active lanes at most.
  bool is_own(const Location& place) const { return place.kept.handle == mask_.handle; }
  /// Whether an array that is used for the last time may be updated where it is.
  bool may_update(const Place& place) const {
    return place.exclusive() && place.view.is_contiguous() && (place.lanes > 1 || is_own(place));
  }
  /// To write in a place: one that may be updated, or whose contents nobody needs.
  Target update(const Place& place) const;
  /// The same of one that is our own.
  Destination overwrite(const Place& place) const;
  /// Writes all elements of `from` to `to`.
  void copy(const Place& from, const Aval& aval, const Target& to);
  /// The same, where `from` may be an input that was given up and lies under `to`.
  void copy_given(const Place& from, const Aval& aval, const Destination& to);
  /// Lists of lanes as a table of lists, out of the tapes of packets.
  Place lists_of_lanes(const Place& tapes, const Aval& aval);
  void free_lists_of_lanes(const Buffer& lists);
  /// The elements of one lane of a packet (a scalar I64): in memory with gaps where lanes are neighbours.
  Place of_lane(const Place& place, const Aval& aval, Value lane);
  /// The same, to write them: the lane must be active.
  Target of_lane(const Target& target, const Aval& aval, Value lane);
  /// How many copies of each element a place has: 1 when all lanes share it.
  int lanes_of(const Location& place) const;

 private:
  using Values = std::vector<Value>;

  void mark_unwritten(const Place& place, const Aval& aval);
  void run_items(std::span<const Item> items);
  void emit(const Eqn& e);
  void release_operands(const Eqn& e);
  void release(Place& place);

  void emit_constant(const Eqn& e);
  void emit_view(const Eqn& e);
  void emit_elementwise_registers(const Eqn& e);
  bool emit_unrolled(const Eqn& e);
  void emit_kernel(const Eqn& e);
  bool emit_nothing(const Eqn& e);
  std::int64_t add_kernel(const Eqn& e);
  /// Calls a function that writes an equation; false if that says that it cannot.
  template <auto writer>
  static bool write(Region& region, const Eqn& e) {
    if constexpr (std::is_void_v<decltype((region.*writer)(e))>)
      return (region.*writer)(e), true;
    else
      return (region.*writer)(e);
  }
  void emit_raise_when(const Eqn& e);
  void emit_progress(const Eqn& e);
  void call_kernel(std::int64_t number, const Eqn& e, std::span<const Place> in,
                   std::span<const Destination> out);
  void call_kernel_lanes(const Eqn& e, std::int64_t kernel);
  class Fusion;
  void emit_cluster(std::span<const std::uint32_t> eqns);
  void emit_loop(Fusion& fusion);
  Values call_loop(const FusedLoop& loop);
  bool emit_iota(const Eqn& e);
  bool emit_concatenate(const Eqn& e);
  void append_columns(const Place& array, std::int64_t count, Dtype dtype, std::vector<Access>& columns);
  bool interleave(const Aval& aval, std::span<const Access> columns, const Destination& whole);
  void emit_pad(const Eqn& e);
  bool emit_dynamic_slice(const Eqn& e);
  bool emit_dynamic_update_slice(const Eqn& e);
  struct IndexedSlice;
  class CondWriter;
  class PacketsCall;
  class WhileWriter;
  class ScanWriter;
  IndexedSlice indexed_slice(const Place& array, Dtype dtype, const Placement& placement,
                             std::span<const Value> indices, std::int64_t row, OutOfBounds mode);
  Value load_indexed(const IndexedSlice& slice, const Place& array, Dtype dtype, std::int64_t distance);
  bool emit_gather(const Eqn& e);
  bool emit_scatter(const Eqn& e);
  bool emit_scatter_kernel(const Eqn& e);
  /// Where an equation that updates its first operand in part makes its result: the operand's place if nobody
  /// else needs it, else a copy.
  Target updated(const Eqn& e, int lanes);
  Value lane_starts(const Place& array, const Aval& aval, std::span<const ValueId> starts,
                    const Shape& sizes);
  template <class Body>
  bool each_of_slice(const Place& array, const Aval& slice, Body&& body);
  Value dynamic_offset(const Place& array, const Aval& aval, std::span<const ValueId> starts,
                       const Shape& sizes);
  bool emit_contract(const Eqn& e);
  Place packed(const Place& place, const Aval& aval, std::size_t axis);
  bool emit_reduce(const Eqn& e);
  void emit_call(const Eqn& e);
  void emit_cond(const Eqn& e);
  void emit_cond_lanes(const Eqn& e, Value index, std::span<BranchOperand> in);
  void emit_map_lanes(const Eqn& e);
  void emit_while(const Eqn& e);
  void emit_scan(const Eqn& e);
  void emit_packets(const Eqn& e);
  struct Packets {
    int width = 1;
    bool may_double = false;
    LaneSplit split;
  };
  Packets plan_packets(const Eqn& e);
  /// The operand's place; taken away from it when this is its last use, so that it may be overwritten.
  Place take(ValueId v, bool& last);
  std::vector<char> varying(const Eqn& e);
  /// Whether the part of an array that the equation takes must not be a view of it.
  bool is_copied(const Eqn& e) const;

  void emit_op(const Eqn& e, std::span<Value> in, std::span<Value> out);
  /// A scalar I64 index in [0, limit], the same for all lanes, or one a lane.
  Value clamped_index(ValueId index, std::int64_t limit);
  void define(ValueId v, Place place);
  void define_loaded(ValueId v, const Place& memory);
  std::int64_t bytes_of(const Place& place, Dtype dtype) const {
    return static_cast<std::int64_t>(item_size(dtype)) * (place.apart.handle ? 1 : place.lanes);
  }

  Lowering& lowering_;
  Builder& b_;
  const Graph& graph_;
  int lanes_;
  Value mask_;
  std::vector<Place> places_;        // by value
  std::vector<std::uint32_t> uses_;  // by value: operands and outputs that are still to come
  std::vector<Home> hints_;          // by value
  Schedule schedule_;
  bool scheduled_ = false;
  bool shares_loops_ = false;  // there are so many fused loops that equal ones become functions
};

}  // namespace apsis::detail
