#pragma once

// The slots of a packet: what each lane in the loop has of its own, in registers or in memory.

#include "codegen/lanes/lane_chunk.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {

class LaneSlots {
 public:
  /// All start empty; no lane reads what is in them. `homes` takes their memory.
  LaneSlots(LaneChunk& chunk, Region& homes);
  /// What the loops carry that lanes run in.
  void add_variables(std::vector<Variable>& carried) const;
  /// What the loop computes from values that all lanes share is computed before it. `cond` may be null.
  void hoist(Region* cond, Region& body);
  /// At the start of an iteration. Slots at rest run along in the body; only where they might loop for ever,
  /// or call something, are they held back.
  void bind(Region* cond, Region& body, Value active);
  /// One iteration for all slots. `records`: where the outputs after the carries go.
  void run_body(Region& body, std::span<const Place> records);
  /// The lanes `ids` of `mask` enter the loop: what comes before it, into their slots.
  /// If `first` is given, they follow each other from it on.
  void enter_lanes(Value ids, Value mask, Value first = {});
  /// The lanes `ids` of `mask` leave it: what comes after it.
  void leave_lanes(Value ids, Value mask);
  /// The array of a carry, in memory that is written in place.
  ConstPointer home_of_carry(std::size_t carry) const;

 private:
  // An operand of the loop that each lane of the packet has its own of.
  struct Slot {
    std::size_t operand;
    Aval aval;
    CarryUse use = CarryUse::Unchanged;
    std::vector<Variable> elements;  // in registers
    Home home, spare;  // in memory: `spare` takes turns with `home` when an iteration makes the array anew
    Variable home_now, spare_now;
    bool in_memory() const { return static_cast<bool>(home); }
    bool takes_turns() const { return in_memory() && use == CarryUse::Replaced; }
  };

  void make_home(Slot& slot, Region& homes);
  void find_passed_on();
  void bind_operand(Region* cond, Region& body, std::size_t k, const Place& place, const Place& for_body);
  /// To be read.
  Place place_of(const Slot& slot) const;
  /// In the loop's body, which may update it: nobody reads what is there of lanes that are not `active`.
  Place place_of(const Slot& slot, Value active) const;
  Place spare_of(const Slot& slot, Value active) const;
  void blend(const Slot& slot, const Place& fresh, Region& made_by, Value mask);

  LaneChunk& chunk_;
  const LaneSplit& split_;
  Builder& b_;
  const Loop loop_;
  std::vector<Slot> slots_;
  std::vector<char> passed_on_;  // by input of what comes before the loop
};

}  // namespace apsis::detail
