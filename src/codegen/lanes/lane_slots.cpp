#include "codegen/lanes/lane_slots.hpp"

#include <algorithm>

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

LaneSlots::LaneSlots(LaneChunk& chunk, Region& homes)
    : chunk_(chunk), split_(chunk.split), b_(chunk.b), loop_(chunk.loop_parts()) {
  const auto operands = split_.region->operands(*split_.loop);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!split_.slots[k]) continue;
    Slot& slot = slots_.emplace_back();
    slot.operand = k;
    slot.aval = split_.region->aval(operands[k]);
    if (k >= loop_.first_carry())
      slot.use = carry_use(*loop_.body, static_cast<ValueId>(k - loop_.cond_consts),
                           loop_.body->outputs()[k - loop_.first_carry()]);
    if (!chunk_.in_registers(slot.aval)) {
      make_home(slot, homes);
      continue;
    }
    b_.set_lanes(chunk_.width);
    for (std::int64_t i = 0; i < slot.aval.size(); ++i)
      slot.elements.push_back(b_.make_variable(b_.constant(slot.aval.dtype(), 0)));
  }
  find_passed_on();
}

void LaneSlots::make_home(Slot& slot, Region& homes) {
  slot.home = Home(homes.allocate(slot.aval, chunk_.width).place());
  if (chunk_.lies_apart(slot.operand)) {
    b_.set_lanes(chunk_.width);
    slot.home.apart = b_.mul(b_.lane_numbers(), b_.splat(b_.index(slot.aval.size())));
  }
  if (slot.use != CarryUse::Replaced) return;
  slot.spare = Home(homes.allocate(slot.aval, chunk_.width).place());
  slot.home_now = b_.make_variable(slot.home.base);
  slot.spare_now = b_.make_variable(slot.spare.base);
}

/// Inputs that are nothing but the start of slots whose lanes lie apart.
void LaneSlots::find_passed_on() {
  const Graph& before = *split_.before.graph;
  for (ValueId input = 0; input < before.input_count(); ++input) {
    bool passed_on = std::ranges::none_of(before.eqns(), [&](const Eqn& e) {
      const auto operands = before.operands(e);
      return std::ranges::find(operands, input) != operands.end();
    });
    for (std::size_t s = 0; s < slots_.size(); ++s)
      if (before.outputs()[s] == input && !slots_[s].home.apart.handle) passed_on = false;
    passed_on_.push_back(static_cast<char>(passed_on));
  }
}

void LaneSlots::bind_operand(Region* cond, Region& body, std::size_t k, const Place& place,
                             const Place& for_body) {
  if (cond && (k < loop_.cond_consts || k >= loop_.first_carry()))
    cond->bind_input(static_cast<ValueId>(k < loop_.cond_consts ? k : k - loop_.consts), place);
  if (k >= loop_.cond_consts) body.bind_input(static_cast<ValueId>(k - loop_.cond_consts), for_body);
}

void LaneSlots::hoist(Region* cond, Region& body) {
  const auto operands = split_.region->operands(*split_.loop);
  std::vector<char> cond_fixed(cond ? loop_.cond->input_count() : 0, 0),
      body_fixed(loop_.body->input_count(), 0);
  for (std::size_t k = 0; k < loop_.first_x(); ++k) {
    if (split_.slots[k]) continue;
    bind_operand(cond, body, k, chunk_.known[operands[k]], chunk_.known[operands[k]]);
    if (cond && (k < loop_.cond_consts || k >= loop_.first_carry()))
      cond_fixed[k < loop_.cond_consts ? k : k - loop_.consts] = 1;
    if (k >= loop_.cond_consts) body_fixed[k - loop_.cond_consts] = 1;
  }
  if (cond) cond->run_invariant(cond_fixed);
  body.run_invariant(body_fixed);
}

void LaneSlots::bind(Region* cond, Region& body, Value active) {
  if (has_regions(*loop_.body) || loop_.body->has_effect()) body.set_mask(active);
  for (const Slot& slot : slots_)
    bind_operand(cond, body, slot.operand, place_of(slot), place_of(slot, body.mask()));
}

void LaneSlots::add_variables(std::vector<Variable>& carried) const {
  for (const Slot& slot : slots_) {
    carried.insert(carried.end(), slot.elements.begin(), slot.elements.end());
    if (slot.takes_turns()) carried.insert(carried.end(), {slot.home_now, slot.spare_now});
  }
}

Place LaneSlots::place_of(const Slot& slot) const {
  Place place = place_of(slot, {});
  if (slot.in_memory()) place.buffer = read_only(slot.home, slot.spare);
  return place;
}

Place LaneSlots::place_of(const Slot& slot, Value active) const {
  if (!slot.in_memory()) {
    Place place;
    place.kind = Place::Kind::Registers;
    for (Variable v : slot.elements) place.elements.push_back(b_.get(v));
    return place;
  }
  Place place = slot.home.value();
  place.kept = active;
  if (slot.takes_turns()) place.base = b_.get_pointer(slot.home_now);
  // The body updates what it changes in place, once nothing else reads it.
  if (slot.use != CarryUse::InPlace) place.buffer = read_only(slot.home, slot.spare);
  return place;
}

Place LaneSlots::spare_of(const Slot& slot, Value active) const {
  Place place = slot.spare.value();
  place.base = b_.get_pointer(slot.spare_now);
  place.kept = active;
  return place;
}

/// Puts what was made for the lanes of `mask` in the slot's place.
void LaneSlots::blend(const Slot& slot, const Place& fresh, Region& made_by, Value mask) {
  if (slot.in_memory()) {
    Place home = slot.home.value();
    if (slot.takes_turns()) home.base = b_.get_pointer(slot.home_now);
    return made_by.copy(fresh, slot.aval, made_by.update(home));
  }
  const std::vector<Value> elements = made_by.registers(fresh, slot.aval);
  for (std::size_t k = 0; k < elements.size(); ++k)
    b_.set(slot.elements[k], b_.select(mask, chunk_.splat_to_width(elements[k]), b_.get(slot.elements[k])));
}

void LaneSlots::enter_lanes(Value ids, Value mask, Value first) {
  chunk_.note_lanes(ids);
  Region region(chunk_.lowering, *split_.before.graph, chunk_.width, mask);
  chunk_.bind(region, split_.before, chunk_.safe_ids(ids), mask, passed_on_, first);
  region.run();
  for (std::size_t s = 0; s < slots_.size(); ++s) blend(slots_[s], region.output(s), region, mask);
}

void LaneSlots::leave_lanes(Value ids, Value mask) {
  const auto operands = split_.region->operands(*split_.loop);
  for (std::size_t r = 0; r < loop_.carries; ++r) {
    const std::size_t k = loop_.first_carry() + r;
    const auto slot = std::ranges::find(slots_, k, &Slot::operand);
    chunk_.known[split_.loop->first_result + r] =
        slot == slots_.end() ? chunk_.known[operands[k]] : place_of(*slot);
  }
  b_.set_lanes(chunk_.width);
  chunk_.note_lanes(ids);
  Region region(chunk_.lowering, *split_.after.graph, chunk_.width, mask);
  // What comes after the loop may do more with an array than store it and read slices.
  const Graph& after = *split_.after.graph;
  for (std::size_t i = 0; i < split_.after.inputs.size(); ++i) {
    Place& place = chunk_.known[split_.after.inputs[i]];
    const auto output = std::ranges::find(after.outputs(), i) - after.outputs().begin();
    if (!place.apart.handle ||
        only_sliced(after, static_cast<ValueId>(i), output, chunk_.lowering.options().register_limit))
      continue;
    const Aval& aval = split_.region->aval(split_.after.inputs[i]);
    const Destination beside = region.allocate(aval, chunk_.width);
    region.copy(place, aval, beside);
    place = beside.place();
  }
  chunk_.bind(region, split_.after, chunk_.safe_ids(ids), mask);
  region.run();
  chunk_.store_outputs(region, ids, mask);
  // Nobody reads the slots under these names any more: the body, where it is written later, may update them.
  for (std::size_t r = 0; r < loop_.carries; ++r) chunk_.known[split_.loop->first_result + r] = {};
}

ConstPointer LaneSlots::home_of_carry(std::size_t carry) const {
  const auto slot = std::ranges::find(slots_, loop_.first_carry() + carry, &Slot::operand);
  return place_of(*slot, {}).base;
}

void LaneSlots::run_body(Region& body, std::span<const Place> records) {
  for (const Slot& slot : slots_)
    if (slot.takes_turns()) body.hint_output(slot.operand - loop_.first_carry(), spare_of(slot, body.mask()));
  for (std::size_t i = 0; i < records.size(); ++i) body.hint_output(loop_.carries + i, records[i]);
  body.run();
  for (std::size_t i = 0; i < records.size(); ++i) body.write_output(loop_.carries + i, records[i]);
  const auto changes = [&](const Slot& slot) { return slot.use != CarryUse::Unchanged; };
  for (const Slot& slot : slots_) {
    if (!changes(slot)) continue;
    const Place& made = body.output(slot.operand - loop_.first_carry());
    if (!slot.in_memory()) {
      const std::vector<Value> elements = body.registers(made, slot.aval);
      for (std::size_t k = 0; k < elements.size(); ++k)
        b_.set(slot.elements[k], chunk_.splat_to_width(elements[k]));
    } else if (slot.takes_turns()) {
      const Place next = spare_of(slot, body.mask());
      if (!same_memory(made, next)) body.copy(made, slot.aval, body.overwrite(next));
      b_.set(slot.spare_now, b_.get_pointer(slot.home_now));
      b_.set(slot.home_now, next.base);
    }
  }
  for (const Slot& slot : slots_) {
    if (slot.use != CarryUse::InPlace || !slot.in_memory()) continue;
    const Place& made = body.output(slot.operand - loop_.first_carry());
    const Place home = place_of(slot, body.mask());
    if (!same_memory(made, home)) body.copy(made, slot.aval, body.overwrite(home));
  }
}

}  // namespace apsis::detail
