#pragma once

// Writes the function that runs the lanes of one chunk of a map_lanes: in packets of `width` lanes, one
// vector lane each. Where the region has a loop, a lane that leaves it is replaced at once by the next of the
// chunk, so that the packet stays full. A loop that records lists leaves one tape a chunk: a record of the
// whole packet a step, and the events that say when which slot held which lane. A scan over such lists
// replays the events, forwards or backwards.

#include "codegen/emit/list_access.hpp"
#include "codegen/emit/region.hpp"
#include "codegen/lanes/outer_sums.hpp"
#include "passes/analysis/updates.hpp"
#include "passes/split_lanes.hpp"

namespace apsis::detail {

class LaneCode {
 public:
  /// `width`: lanes of a packet; with `choose`, twice as many where that pays. `tapes`: for each operand that
  /// is a list of the lanes, a number that those from one tape share.
  LaneCode(Lowering& lowering, const MapLanesParams& params, LaneSplit split, std::vector<std::size_t> tapes,
           int width, bool choose);
  /// The chunk function; its arguments are a table of pointers: the operands' elements, then the results'.
  Function write();
  int width() const { return width_; }
  /// Scratch memory that it needs.
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  /// Of a result that is a list of the lanes: where its values are in the records of the packets' tapes.
  std::int64_t tape_offset(std::size_t output) const { return tape_offsets_[output]; }

 private:
  using Values = std::vector<Value>;

  // An operand of the loop that each lane of the packet has its own of. `now` and the pointers say where its
  // current values are at the point of the function that is being written.
  struct Slot {
    std::size_t operand;
    Aval aval;
    CarryUse use = CarryUse::Unchanged;
    Values now;        // registers
    Home home, spare;  // memory: `spare` takes turns with `home` when an iteration makes the array anew
    Pointer home_now, spare_now;
    bool in_memory() const { return static_cast<bool>(home); }
    bool takes_turns() const { return in_memory() && use == CarryUse::Replaced; }
  };
  // The phis of the slots at the head of a block.
  struct SlotPhis {
    Values elements;
    Pointer home, spare;
  };

  class Refill;
  class Replay;

  /// The loop, its body without the sums of `outer_`.
  Loop loop_parts() const;
  bool latency_bound() const;
  bool lies_apart(std::size_t operand) const;
  bool passed_on(const GraphPart& part, ValueId input) const;
  void load_shared();
  /// From here on the packet's lanes are `ids`: what errors call them.
  void note_lanes(Value ids);
  void note_nest();
  void write_packets();
  void write_refilled();
  void write_replayed();

  // The loop's slots (lane_slots.cpp).
  void make_slots(Region& homes);
  void bind_operand(Region* cond, Region& body, std::size_t k, const Place& place, const Place& for_body);
  void hoist(Region* cond, Region& body);
  void bind_slots(Region* cond, Region& body, Value active);
  std::vector<SlotPhis> open_slots(Block from);
  void link_slots(const std::vector<SlotPhis>& phis, Block from);
  void restore_slots(const std::vector<SlotPhis>& phis);
  /// To be read.
  Place slot_place(const Slot& slot) const;
  /// In the loop's body, which may update it: nobody reads what is there of lanes that are not `active`.
  Place slot_place(const Slot& slot, Value active) const;
  Place spare_place(const Slot& slot, Value active) const;
  void blend(Slot& slot, const Place& fresh, Region& made_by, Value mask);
  /// The lanes `ids` of `mask` enter the loop: what comes before it, into their slots.
  void enter_lanes(Value ids, Value mask);
  /// The lanes `ids` of `mask` leave it: what comes after it.
  void leave_lanes(Value ids, Value mask);
  /// One iteration for all slots. `records`: where the outputs after the carries go.
  void run_body(Region& body, std::span<const Place> records);

  // Tapes (lane_replay.cpp).
  Pointer entry_of_chunk(Pointer table);
  std::vector<Aval> recorded() const;
  Pointer make_events();
  void close_events(Pointer events);
  void publish_tape(const ListWriter& tape, Pointer events);
  void record_event(Pointer events, Value steps, Value left, Value entered, Value before, Value after);
  Value mask_of(Value bits);
  Value safe_ids(Value ids);

  // Gradients of matrices that the lanes share (lane_outer.cpp).
  void open_outer_sums(Region& homes);
  std::vector<Place> outer_vectors(Value active);
  void keep_outer_vectors();
  void flush_outer_sums();
  Function write_outer_sums();

  /// The inputs of what comes before or after the loop, for the lanes `ids`; `mask`: those that matter.
  void bind(Region& region, const GraphPart& part, Value ids, Value mask = {});
  Place input(ValueId v, Value ids, Value mask);
  Place list_place(ConstPointer value, ConstPointer list);
  Place target(std::size_t output, Value id);
  Place lasting(Region& region, std::size_t output);
  void store_outputs(Region& region, Value ids, Value mask);
  Value splat_to_width(Value v);
  template <class Address>
  Address element_address(Address base, Value index, std::int64_t bytes) {
    return b_.offset(base, b_.mul(index, b_.index(bytes)));
  }
  bool in_registers(const Aval& aval) const {
    return detail::in_registers(aval, lowering_.options().register_limit);
  }
  bool is_mapped(ValueId v) const { return params_.in_axes[v] >= 0; }

  Lowering& lowering_;
  Builder& b_;
  const MapLanesParams& params_;
  int width_;
  LaneSplit split_;
  std::vector<std::size_t> tapes_;
  std::vector<std::int64_t> tape_offsets_;
  std::int64_t scratch_bytes_ = 0;
  Value first_, last_;
  std::vector<Pointer> in_, out_;
  Pointer lanes_;  // where the numbers of the packet's lanes are kept for effects; none if there are none
  std::vector<Place>
      known_;  // by value of the region: what is the same for all lanes, and the loop's results
  std::vector<Slot> slots_;
  OuterSums outer_;
  // The vectors of some iterations, how many iterations these are, and what adds their products up.
  Place kept_;
  Pointer kept_count_;
  std::vector<std::int64_t> kept_offsets_;
  std::int64_t kept_stride_ = 0, most_kept_ = 0;
  Function add_kept_;
};

}  // namespace apsis::detail
