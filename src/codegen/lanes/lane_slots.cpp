// The slots of a packet: what each lane in the loop has of its own, in registers or in memory.

#include <algorithm>

#include "codegen/lanes/lane_code.hpp"

namespace apsis::detail {
namespace {

/// What a piece reads must not be overwritten by it: the buffer under another name.
BufferReader read_only(const Home& a, const Home& b) {
  auto buffer = std::make_shared<Buffer>();
  buffer->parts = {a.value().buffer, b.value().buffer};
  return BufferReader(buffer);
}

bool has_regions(const Graph& graph) {
  return std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return !regions_of(e.params).empty(); });
}

}  // namespace

/// All slots start empty; no lane reads what is in them.
void LaneCode::make_slots(Region& homes) {
  const Loop loop = loop_parts();
  const auto operands = split_.region->operands(*split_.loop);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!split_.slots[k]) continue;
    Slot& slot = slots_.emplace_back();
    slot.operand = k;
    slot.aval = split_.region->aval(operands[k]);
    if (k >= loop.first_carry())
      slot.use = carry_use(*loop.body, static_cast<ValueId>(k - loop.cond_consts),
                           loop.body->outputs()[k - loop.first_carry()]);
    if (in_registers(slot.aval)) {
      b_.set_lanes(width_);
      slot.now.assign(static_cast<std::size_t>(slot.aval.size()), b_.constant(slot.aval.dtype(), 0));
      continue;
    }
    Destination home = homes.allocate(slot.aval, width_);
    slot.home_now = home.base();
    slot.home = Home(std::move(home).place());
    if (lies_apart(k)) {
      b_.set_lanes(width_);
      slot.home.apart = b_.mul(b_.lane_numbers(), b_.splat(b_.index(slot.aval.size())));
    }
    if (slot.use != CarryUse::Replaced) continue;
    Destination spare = homes.allocate(slot.aval, width_);
    slot.spare_now = spare.base();
    slot.spare = Home(std::move(spare).place());
  }
}

void LaneCode::bind_operand(Region* cond, Region& body, std::size_t k, const Place& place,
                            const Place& for_body) {
  const Loop loop = loop_parts();
  if (cond && (k < loop.cond_consts || k >= loop.first_carry()))
    cond->bind_input(static_cast<ValueId>(k < loop.cond_consts ? k : k - loop.consts), place);
  if (k >= loop.cond_consts) body.bind_input(static_cast<ValueId>(k - loop.cond_consts), for_body);
}

/// What the loop computes from values that all lanes share is computed before it.
void LaneCode::hoist(Region* cond, Region& body) {
  const Loop loop = loop_parts();
  const auto operands = split_.region->operands(*split_.loop);
  std::vector<char> cond_fixed(cond ? loop.cond->input_count() : 0, 0),
      body_fixed(loop.body->input_count(), 0);
  for (std::size_t k = 0; k < loop.first_x(); ++k) {
    if (split_.slots[k]) continue;
    bind_operand(cond, body, k, known_[operands[k]], known_[operands[k]]);
    if (cond && (k < loop.cond_consts || k >= loop.first_carry()))
      cond_fixed[k < loop.cond_consts ? k : k - loop.consts] = 1;
    if (k >= loop.cond_consts) body_fixed[k - loop.cond_consts] = 1;
  }
  if (cond) cond->run_invariant(cond_fixed);
  body.run_invariant(body_fixed);
}

/// Slots at rest run along in the body; only where they might loop for ever, or call something, are they held
/// back.
void LaneCode::bind_slots(Region* cond, Region& body, Value active) {
  const Loop loop = loop_parts();
  if (has_regions(*loop.body) || loop.body->has_effect()) body.set_mask(active);
  for (const Slot& slot : slots_)
    bind_operand(cond, body, slot.operand, slot_place(slot), slot_place(slot, body.mask()));
}

/// Phis at the start of the current block, which are where the slots are from here on.
std::vector<LaneCode::SlotPhis> LaneCode::open_slots(Block from) {
  std::vector<SlotPhis> all;
  for (Slot& slot : slots_) {
    SlotPhis& phis = all.emplace_back();
    b_.set_lanes(width_);
    for (Value& v : slot.now) {
      phis.elements.push_back(b_.phi(slot.aval.dtype()));
      b_.add_incoming(phis.elements.back(), v, from);
    }
    if (slot.takes_turns()) {
      phis.home = b_.pointer_phi();
      phis.spare = b_.pointer_phi();
      b_.add_incoming(phis.home, slot.home_now, from);
      b_.add_incoming(phis.spare, slot.spare_now, from);
    }
  }
  restore_slots(all);
  return all;
}

void LaneCode::link_slots(const std::vector<SlotPhis>& phis, Block from) {
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    for (std::size_t k = 0; k < phis[s].elements.size(); ++k)
      b_.add_incoming(phis[s].elements[k], slots_[s].now[k], from);
    if (!slots_[s].takes_turns()) continue;
    b_.add_incoming(phis[s].home, slots_[s].home_now, from);
    b_.add_incoming(phis[s].spare, slots_[s].spare_now, from);
  }
}

/// The slots are where they were when these phis were opened.
void LaneCode::restore_slots(const std::vector<SlotPhis>& phis) {
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    slots_[s].now = phis[s].elements;
    if (!slots_[s].takes_turns()) continue;
    slots_[s].home_now = phis[s].home;
    slots_[s].spare_now = phis[s].spare;
  }
}

Place LaneCode::slot_place(const Slot& slot) const {
  Place place = slot_place(slot, {});
  if (slot.in_memory()) place.buffer = read_only(slot.home, slot.spare);
  return place;
}

Place LaneCode::slot_place(const Slot& slot, Value active) const {
  if (!slot.in_memory()) {
    Place place;
    place.kind = Place::Kind::Registers;
    place.elements = slot.now;
    return place;
  }
  Place place = slot.home.value();
  place.base = slot.home_now;
  place.kept = active;
  // The body updates what it changes in place, once nothing else reads it.
  if (slot.use != CarryUse::InPlace) place.buffer = read_only(slot.home, slot.spare);
  return place;
}

Place LaneCode::spare_place(const Slot& slot, Value active) const {
  Place place = slot.spare.value();
  place.base = slot.spare_now;
  place.kept = active;
  return place;
}

/// Puts what was made for the lanes of `mask` in the slot's place.
void LaneCode::blend(Slot& slot, const Place& fresh, Region& made_by, Value mask) {
  if (slot.in_memory()) {
    Place home = slot.home.value();
    home.base = slot.home_now;
    return made_by.copy(fresh, slot.aval, made_by.update(home));
  }
  const Values elements = made_by.registers(fresh, slot.aval);
  for (std::size_t k = 0; k < elements.size(); ++k)
    slot.now[k] = b_.select(mask, splat_to_width(elements[k]), slot.now[k]);
}

void LaneCode::enter_lanes(Value ids, Value mask) {
  note_lanes(ids);
  Region region(lowering_, *split_.before.graph, width_, mask);
  bind(region, split_.before, safe_ids(ids), mask);
  region.run();
  for (std::size_t s = 0; s < slots_.size(); ++s) blend(slots_[s], region.output(s), region, mask);
}

void LaneCode::leave_lanes(Value ids, Value mask) {
  const Loop loop = loop_parts();
  const auto operands = split_.region->operands(*split_.loop);
  for (std::size_t r = 0; r < loop.carries; ++r) {
    const std::size_t k = loop.first_carry() + r;
    const auto slot = std::ranges::find(slots_, k, &Slot::operand);
    known_[split_.loop->first_result + r] = slot == slots_.end() ? known_[operands[k]] : slot_place(*slot);
  }
  b_.set_lanes(width_);
  note_lanes(ids);
  Region region(lowering_, *split_.after.graph, width_, mask);
  // What comes after the loop may do more with an array than store it and read slices.
  const Graph& after = *split_.after.graph;
  for (std::size_t i = 0; i < split_.after.inputs.size(); ++i) {
    Place& place = known_[split_.after.inputs[i]];
    const auto output = std::ranges::find(after.outputs(), i) - after.outputs().begin();
    if (!place.apart.handle ||
        only_sliced(after, static_cast<ValueId>(i), output, lowering_.options().register_limit))
      continue;
    const Aval& aval = split_.region->aval(split_.after.inputs[i]);
    const Destination beside = region.allocate(aval, width_);
    region.copy(place, aval, beside);
    place = beside.place();
  }
  bind(region, split_.after, safe_ids(ids), mask);
  region.run();
  store_outputs(region, ids, mask);
  // Nobody reads the slots under these names any more: the body, where it is written later, may update them.
  for (std::size_t r = 0; r < loop.carries; ++r) known_[split_.loop->first_result + r] = {};
}

void LaneCode::run_body(Region& body, std::span<const Place> records) {
  const Loop loop = loop_parts();
  for (const Slot& slot : slots_)
    if (slot.takes_turns())
      body.hint_output(slot.operand - loop.first_carry(), spare_place(slot, body.mask()));
  for (std::size_t i = 0; i < records.size(); ++i) body.hint_output(loop.carries + i, records[i]);
  body.run();
  for (std::size_t i = 0; i < records.size(); ++i) body.write_output(loop.carries + i, records[i]);
  const auto changes = [&](const Slot& slot) { return slot.use != CarryUse::Unchanged; };
  for (Slot& slot : slots_) {
    if (!changes(slot)) continue;
    const Place& made = body.output(slot.operand - loop.first_carry());
    if (!slot.in_memory()) {
      slot.now = body.registers(made, slot.aval);
      for (Value& v : slot.now) v = splat_to_width(v);
    } else if (slot.takes_turns()) {
      const Place next = spare_place(slot, body.mask());
      if (!same_memory(made, next)) body.copy(made, slot.aval, body.overwrite(next));
      std::swap(slot.home_now, slot.spare_now);
    }
  }
  for (Slot& slot : slots_) {
    if (slot.use != CarryUse::InPlace || !slot.in_memory()) continue;
    const Place& made = body.output(slot.operand - loop.first_carry());
    const Place home = slot_place(slot, body.mask());
    if (!same_memory(made, home)) body.copy(made, slot.aval, body.overwrite(home));
  }
}

}  // namespace apsis::detail
