#include "codegen/lane_code.hpp"

#include <algorithm>

namespace apsis::detail {
namespace {

std::int64_t bytes_of(const Aval& aval) { return static_cast<std::int64_t>(item_size(aval.dtype())); }

/// What a piece reads must not be overwritten by it: the buffer under another name.
BufferRef read_only(const BufferRef& a, const BufferRef& b) {
  auto buffer = std::make_shared<Buffer>();
  buffer->parts = {a, b};
  return buffer;
}

bool has_regions(const Graph& graph) {
  return std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return !regions_of(e.params).empty(); });
}

}  // namespace

LaneCode::LaneCode(Lowering& lowering, const MapLanesParams& params, int width, bool choose)
    : lowering_(lowering), b_(lowering.b), params_(params), width_(width) {
  std::vector<char> mapped;
  for (std::int64_t axis : params.in_axes) mapped.push_back(axis >= 0);
  split_ = split_lanes(*params.region, mapped, width > 1);
  known_.resize(split_.region->value_count());
  if (choose && split_.loop && params.lanes >= 16 * width && latency_bound()) width_ *= 2;
}

/// One step of a small loop is a chain of dependent operations that leaves most of the machine idle: two registers a value
/// give it a second chain (measured on Lorenz by Tsit5: 1.6 times the lane-steps a second). Larger states would be spilled.
bool LaneCode::latency_bound() const {
  constexpr std::int64_t most_elements = 32;
  constexpr std::size_t most_equations = 600;
  std::int64_t elements = 0;
  const auto operands = split_.region->operands(*split_.loop);
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (split_.slots[k]) elements += split_.region->aval(operands[k]).size();
  return elements <= most_elements && split_.loop->params.as<WhileParams>().body->eqns().size() <= most_equations;
}

Function LaneCode::write() {
  const Type parameters[] = {pointer_type, pointer_type, {Dtype::I64, 1}, {Dtype::I64, 1}}, results[] = {{Dtype::I32, 1}};
  const Function chunk = b_.declare("lanes", parameters, results);
  b_.begin(chunk);
  lowering_.begin_function(b_.pointer_parameter(0));
  first_ = b_.parameter(2);
  last_ = b_.parameter(3);
  const std::size_t inputs = split_.region->input_count(), outputs = split_.region->outputs().size();
  for (std::size_t i = 0; i < inputs + outputs; ++i) {
    const Pointer p = b_.load_pointer(b_.offset(b_.pointer_parameter(1), static_cast<std::int64_t>(i * sizeof(void*))));
    (i < inputs ? in_ : out_).push_back(p);
  }
  load_shared();
  if (split_.loop) write_refilled();
  else write_packets();
  b_.set_lanes(1);
  const Value ok = b_.constant(Dtype::I32, static_cast<std::uint64_t>(Status::Ok));
  b_.return_values({&ok, 1});
  known_.clear();
  slots_.clear();
  scratch_bytes_ = lowering_.end_function();
  b_.end();
  return chunk;
}

/// What lanes have in common is computed once a chunk.
void LaneCode::load_shared() {
  const Graph& region = *split_.region;
  Region shared(lowering_, *split_.shared.graph);
  for (ValueId v = 0; v < region.input_count(); ++v) {
    if (is_mapped(v)) continue;
    Place& place = known_[v];
    const Aval& aval = region.aval(v);
    if (aval.is_list()) {
      place = list_place(in_[v], b_.load_pointer(b_.offset(in_[v], offsetof(ListValue, list))));
      continue;
    }
    place.base = in_[v];
    place.kind = Place::Kind::Memory;
    place.view = View::contiguous(aval.shape());
    if (in_registers(aval)) {
      place.elements = shared.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
  }
  bind(shared, split_.shared, {});
  shared.run();
  for (std::size_t i = 0; i < split_.shared_values.size(); ++i) known_[split_.shared_values[i]] = shared.output(i);
}

void LaneCode::bind(Region& region, const LanePart& part, Value ids) {
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    const ValueId v = part.inputs[i];
    const bool of_lane = v < split_.region->input_count() && is_mapped(v);
    region.bind_input(static_cast<ValueId>(i), of_lane ? input(v, ids) : known_[v]);
  }
}

/// A list whose header is at `list`; `value` is the ListValue that it belongs to.
Place LaneCode::list_place(Pointer value, Pointer list) {
  Place place;
  b_.set_lanes(1);
  place.kind = Place::Kind::List;
  place.base = list;
  place.offset = b_.load_element(b_.offset(value, offsetof(ListValue, offset)), Dtype::I64);
  return place;
}

Value LaneCode::splat_to_width(Value v) {
  b_.set_lanes(width_);
  return b_.lanes_of(v) < width_ ? b_.splat(v) : v;
}

Pointer LaneCode::element_address(Pointer base, Value index, std::int64_t bytes) {
  return b_.offset(base, b_.mul(index, b_.index(bytes)));
}

/// Input v of the lanes `ids`: one lane's elements where they are, or those of a packet side by side.
Place LaneCode::input(ValueId v, Value ids) {
  const Aval& aval = split_.region->aval(v);
  Place place;
  if (width_ == 1) {
    b_.set_lanes(1);
    if (aval.is_list()) {
      const Pointer table = b_.load_pointer(b_.offset(in_[v], offsetof(ListValue, list)));
      return list_place(in_[v], b_.load_pointer(element_address(table, ids, sizeof(void*))));
    }
    place.kind = Place::Kind::Memory;
    place.base = element_address(in_[v], ids, static_cast<std::int64_t>(aval.bytes()));
    place.view = View::contiguous(aval.shape());
    if (in_registers(aval)) {
      Region reader(lowering_, *split_.shared.graph);
      place.elements = reader.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
    return place;
  }
  b_.set_lanes(width_);
  const Value start = b_.mul(ids, b_.splat(b_.index(aval.size())));
  if (in_registers(aval)) {
    place.kind = Place::Kind::Registers;
    for (std::int64_t k = 0; k < aval.size(); ++k)
      place.elements.push_back(b_.gather(b_.offset(in_[v], k * bytes_of(aval)), start, aval.dtype()));
    return place;
  }
  Region maker(lowering_, *split_.shared.graph);
  place = maker.allocate(aval, width_);
  if (aval.size() == 0) return place;
  b_.set_lanes(1);
  CountedLoop loop(b_, b_.index(aval.size()));
  b_.set_lanes(width_);
  const Value elements = b_.gather(element_address(in_[v], loop.index(), bytes_of(aval)), start, aval.dtype());
  b_.store(element_address(place.base, loop.index(), bytes_of(aval) * width_), elements);
  loop.close();
  return place;
}

/// Where the output of lane `id` is to be, at one lane.
Place LaneCode::target(std::size_t output, Value id) {
  const Aval& aval = split_.region->aval(split_.region->outputs()[output]);
  Place place;
  b_.set_lanes(1);
  place.kind = Place::Kind::Memory;
  place.view = View::contiguous(aval.shape());
  place.base = element_address(out_[output], id, static_cast<std::int64_t>(aval.bytes()));
  return place;
}

void LaneCode::store_outputs(Region& region, Value ids, Value mask) {
  const Graph& graph = *split_.region;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Aval& aval = graph.aval(graph.outputs()[i]);
    b_.set_lanes(width_);
    const Value start = b_.mul(ids, b_.splat(b_.index(aval.size())));
    if (in_registers(aval)) {
      const Values elements = region.registers(region.output(i), aval);
      for (std::size_t k = 0; k < elements.size(); ++k)
        b_.scatter(b_.offset(out_[i], static_cast<std::int64_t>(k) * bytes_of(aval)), start, splat_to_width(elements[k]), mask);
      continue;
    }
    if (aval.size() == 0) continue;
    const Place place = region.contiguous(region.output(i), aval);
    const Pointer base = b_.offset(place.base, place.view.offset * bytes_of(aval) * place.lanes);
    b_.set_lanes(1);
    CountedLoop loop(b_, b_.index(aval.size()));
    b_.set_lanes(place.lanes);
    const Value elements = b_.load(element_address(base, loop.index(), bytes_of(aval) * place.lanes), aval.dtype());
    b_.scatter(element_address(out_[i], loop.index(), bytes_of(aval)), start, splat_to_width(elements), mask);
    loop.close();
  }
}

/// Packets of neighbouring lanes that run their whole region together.
void LaneCode::write_packets() {
  b_.set_lanes(1);
  const Value packets = width_ == 1 ? b_.sub(last_, first_)
                                    : b_.integer_div(b_.add(b_.sub(last_, first_), b_.index(width_ - 1)), b_.index(width_));
  CountedLoop loop(b_, packets);
  const Value start = b_.add(first_, b_.mul(loop.index(), b_.index(width_)));
  if (width_ == 1) {
    Region region(lowering_, *split_.after.graph);
    bind(region, split_.after, start);
    std::vector<Place> targets;
    const std::size_t count = split_.region->outputs().size();
    for (std::size_t i = 0; i < count; ++i) {
      targets.push_back(target(i, start));
      if (!split_.region->aval(split_.region->outputs()[i]).is_list()) region.hint_output(i, targets[i]);
    }
    region.run();
    for (std::size_t i = 0; i < count; ++i) {
      if (!split_.region->aval(split_.region->outputs()[i]).is_list()) {
        region.write_output(i, targets[i]);
        continue;
      }
      b_.set_lanes(1);
      // The records of all lanes are alike, so each lane stores the same offset.
      const Pointer lists = b_.load_pointer(b_.offset(out_[i], offsetof(ListValue, list)));
      b_.store_pointer(element_address(lists, start, sizeof(void*)), region.output(i).base);
      b_.store(b_.offset(out_[i], offsetof(ListValue, offset)), region.output(i).offset);
    }
  } else {
    b_.set_lanes(width_);
    const Value ids = b_.add(b_.splat(start), b_.lane_numbers()), end = b_.splat(last_);
    const Value mask = b_.compare(Compare::Lt, ids, end);
    const Value safe = b_.select(mask, ids, b_.sub(end, b_.constant(Dtype::I64, 1)));
    Region region(lowering_, *split_.after.graph, width_, mask);
    bind(region, split_.after, safe);
    region.run();
    store_outputs(region, ids, mask);
  }
  lowering_.poll();
  loop.close();
  b_.set_lanes(1);
  const Operand counts[] = {packets, b_.index(0)};
  b_.call_runtime_void("apsis_count_lanes", counts);
}

LaneCode::Values LaneCode::slot_phis(const Slot& slot) {
  Values phis;
  b_.set_lanes(width_);
  for (std::int64_t k = 0; k < slot.aval.size(); ++k) phis.push_back(b_.phi(slot.aval.dtype()));
  return phis;
}

Place LaneCode::slot_place(const Slot& slot, bool writable) const {
  if (slot.home.kind != Place::Kind::Memory) {
    Place place;
    place.kind = Place::Kind::Registers;
    place.elements = slot.now;
    return place;
  }
  Place place = slot.home;
  if (slot.use == CarryUse::Replaced) place.base = slot.home_now;
  if (!writable || slot.use == CarryUse::Replaced) place.buffer = read_only(slot.home.buffer, slot.spare.buffer);
  return place;
}

/// Puts what was loaded for the lanes of `mask` in the slot's place.
void LaneCode::blend(Slot& slot, const Place& fresh, Region& made_by, Value mask) {
  if (slot.home.kind == Place::Kind::Memory) {
    Place home = slot.home;
    if (slot.use == CarryUse::Replaced) home.base = slot.home_loading;
    made_by.copy(fresh, slot.aval, home, true);
    return;
  }
  const Values elements = made_by.registers(fresh, slot.aval);
  slot.updated.clear();
  for (std::size_t k = 0; k < elements.size(); ++k)
    slot.updated.push_back(b_.select(mask, splat_to_width(elements[k]), slot.loading[k]));
}

/// One packet goes through the lanes of the chunk:
///
///   load:   slots whose lanes have ended, all at first, get the next lanes; done when no slot has one
///   head:   which lanes go on? if some do not: retire, otherwise step
///   step:   the loop's body, for all slots; back to head
///   retire: the region's rest for the lanes that ended, whose results are stored; back to load
void LaneCode::write_refilled() {
  const Graph& graph = *split_.region;
  const auto& loop = split_.loop->params.as<WhileParams>();
  const auto operands = graph.operands(*split_.loop);
  const auto cond_consts = static_cast<std::size_t>(loop.cond_consts), body_consts = static_cast<std::size_t>(loop.body_consts);
  const std::size_t first_carry = cond_consts + body_consts;

  Region homes(lowering_, *split_.shared.graph, width_);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (!split_.slots[k]) continue;
    Slot& slot = slots_.emplace_back();
    slot.operand = k;
    slot.aval = graph.aval(operands[k]);
    if (k >= first_carry)
      slot.use = carry_use(*loop.body, static_cast<ValueId>(k - cond_consts), loop.body->outputs()[k - first_carry]);
    if (in_registers(slot.aval)) continue;
    slot.home = homes.allocate(slot.aval, width_);
    if (slot.use == CarryUse::Replaced) slot.spare = homes.allocate(slot.aval, width_);
    slot.home.buffer->holders = 1;
  }

  // What the loop computes from values that all lanes share is computed before it.
  Region cond(lowering_, *loop.cond, width_), body(lowering_, *loop.body, width_);
  std::vector<char> cond_fixed(loop.cond->input_count(), 0), body_fixed(loop.body->input_count(), 0);
  const auto bind_operand = [&](std::size_t k, const Place& place, const Place& for_body) {
    if (k < cond_consts || k >= first_carry) {
      const std::size_t i = k < cond_consts ? k : k - body_consts;
      cond.bind_input(static_cast<ValueId>(i), place);
      cond_fixed[i] = !split_.slots[k];
    }
    if (k >= cond_consts) {
      body.bind_input(static_cast<ValueId>(k - cond_consts), for_body);
      body_fixed[k - cond_consts] = !split_.slots[k];
    }
  };
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (!split_.slots[k]) bind_operand(k, known_[operands[k]], known_[operands[k]]);
  cond.run_invariant(cond_fixed);
  body.run_invariant(body_fixed);

  b_.set_lanes(width_);
  const Value all_lanes = b_.constant(Dtype::Bool, 1), no_lane = b_.constant(Dtype::Bool, 0);
  const Value zero = b_.constant(Dtype::I64, 0), one = b_.constant(Dtype::I64, 1), end = b_.splat(last_);
  const Value below = b_.sub(b_.shift_left(one, b_.lane_numbers()), one);
  const Block before = b_.position(), load = b_.make_block("load"), fill = b_.make_block("fill"), head = b_.make_block("head"),
              step = b_.make_block("step"), retire = b_.make_block("retire"), done = b_.make_block("done");
  b_.jump(load);

  b_.set_position(load);
  b_.set_lanes(width_);
  const Value free_slots = b_.phi(Dtype::Bool), resting = b_.phi(Dtype::Bool), old_ids = b_.phi(Dtype::I64);
  const Value old_trips = loop.max_steps >= 0 ? b_.phi(Dtype::I64) : Value{};
  b_.set_lanes(1);
  const Value next_lane = b_.phi(Dtype::I64), steps_so_far = b_.phi(Dtype::I64), refills = b_.phi(Dtype::I64);
  for (Slot& slot : slots_) {
    if (slot.home.kind != Place::Kind::Memory) {
      slot.loading = slot_phis(slot);
      b_.set_lanes(width_);
      for (Value phi : slot.loading) b_.add_incoming(phi, b_.constant(slot.aval.dtype(), 0), before);
    } else if (slot.use == CarryUse::Replaced) {
      slot.home_loading = b_.pointer_phi();
      slot.spare_loading = b_.pointer_phi();
      b_.add_incoming(slot.home_loading, slot.home.base, before);
      b_.add_incoming(slot.spare_loading, slot.spare.base, before);
    }
  }
  b_.add_incoming(free_slots, all_lanes, before);
  b_.add_incoming(resting, no_lane, before);
  b_.add_incoming(old_ids, zero, before);
  if (old_trips.handle) b_.add_incoming(old_trips, zero, before);
  b_.add_incoming(next_lane, first_, before);
  b_.add_incoming(steps_so_far, b_.index(0), before);
  b_.add_incoming(refills, b_.index(-1), before);
  // The n-th free slot gets the n-th lane to come.
  const Value free_bits = b_.mask_bits(free_slots);
  b_.set_lanes(width_);
  const Value rank = b_.population_count(b_.bit_and(b_.splat(free_bits), below));
  const Value ids = b_.select(free_slots, b_.add(b_.splat(next_lane), rank), old_ids);
  const Value loaded = b_.bit_and(free_slots, b_.compare(Compare::Lt, ids, end));
  const Value active = b_.bit_or(b_.bit_and(resting, b_.bit_not(free_slots)), loaded);
  b_.branch(b_.any(active), fill, done, Likely::True);

  b_.set_position(fill);
  const Value next_after = b_.add(next_lane, b_.population_count(free_bits));
  // Events that brought a lane; when none is left slots only fall idle.
  b_.set_lanes(1);
  const Value refills_after = b_.add(refills, b_.convert(b_.any(loaded), Dtype::I64));
  b_.set_lanes(width_);
  const Value trips = old_trips.handle ? b_.select(free_slots, zero, old_trips) : Value{};
  {
    Region region(lowering_, *split_.before.graph, width_, loaded);
    bind(region, split_.before, b_.select(b_.compare(Compare::Lt, ids, end), ids, b_.sub(end, one)));
    region.run();
    for (std::size_t s = 0; s < slots_.size(); ++s) blend(slots_[s], region.output(s), region, loaded);
  }
  const Block filled = b_.position();
  b_.jump(head);

  b_.set_position(head);
  b_.set_lanes(1);
  const Value steps = b_.phi(Dtype::I64);
  b_.add_incoming(steps, steps_so_far, filled);
  b_.set_lanes(width_);
  const Value trip = trips.handle ? b_.phi(Dtype::I64) : Value{};
  if (trip.handle) b_.add_incoming(trip, trips, filled);
  for (Slot& slot : slots_) {
    if (slot.home.kind != Place::Kind::Memory) {
      slot.now = slot_phis(slot);
      for (std::size_t e = 0; e < slot.now.size(); ++e) b_.add_incoming(slot.now[e], slot.updated[e], filled);
    } else if (slot.use == CarryUse::Replaced) {
      slot.home_now = b_.pointer_phi();
      slot.spare_now = b_.pointer_phi();
      b_.add_incoming(slot.home_now, slot.home_loading, filled);
      b_.add_incoming(slot.spare_now, slot.spare_loading, filled);
    }
  }
  for (const Slot& slot : slots_) bind_operand(slot.operand, slot_place(slot, false), slot_place(slot, true));
  cond.set_mask(active);
  cond.run();
  const Value go_on = splat_to_width(cond.registers(cond.output(0), loop.cond->aval(loop.cond->outputs()[0]))[0]);
  const Value ended = b_.bit_and(active, b_.bit_not(go_on));
  b_.branch(b_.any(ended), retire, step, Likely::False);

  b_.set_position(step);
  if (trip.handle) {
    b_.set_lanes(width_);
    const Value exceeded = b_.bit_and(active, b_.compare(Compare::Ge, trip, b_.constant(Dtype::I64, static_cast<std::uint64_t>(loop.max_steps))));
    const Block report = b_.make_block("exceeded"), below_limit = b_.make_block("below");
    b_.branch(b_.any(exceeded), report, below_limit, Likely::False);
    b_.set_position(report);
    b_.set_lanes(1);
    const Operand arguments[] = {lowering_.context(), b_.index(loop.max_steps)};
    lowering_.check(b_.call_runtime("apsis_fail_max_steps", Dtype::I32, arguments));
    b_.jump(below_limit);
    b_.set_position(below_limit);
  }
  // Slots at rest run along; only where they might loop for ever, or call something, are they held back.
  if (has_regions(*loop.body)) body.set_mask(active);
  for (const Slot& slot : slots_)
    if (slot.use == CarryUse::Replaced && slot.home.kind == Place::Kind::Memory) {
      Place next = slot.spare;
      next.base = slot.spare_now;
      body.hint_output(slot.operand - first_carry, next);
    }
  body.run();
  for (Slot& slot : slots_) {
    if (slot.operand < first_carry || slot.use == CarryUse::Unchanged) {
      slot.updated = slot.now;
      continue;
    }
    const Place& made = body.output(slot.operand - first_carry);
    if (slot.home.kind != Place::Kind::Memory) {
      slot.updated = body.registers(made, slot.aval);
      for (Value& v : slot.updated) v = splat_to_width(v);
    } else if (slot.use == CarryUse::Replaced) {
      Place next = slot.spare;
      next.base = slot.spare_now;
      if (!same_memory(made, next)) body.copy(made, slot.aval, next);
    }
  }
  for (Slot& slot : slots_) {
    if (slot.use != CarryUse::InPlace || slot.home.kind != Place::Kind::Memory) continue;
    const Place& made = body.output(slot.operand - first_carry);
    if (!same_memory(made, slot.home)) body.copy(made, slot.aval, slot.home);
  }
  lowering_.poll();
  b_.set_lanes(1);
  const Value steps_after = b_.add(steps, b_.index(1));
  b_.set_lanes(width_);
  const Value trip_after = trip.handle ? b_.add(trip, one) : Value{};
  const Block latch = b_.position();
  b_.jump(head);
  b_.add_incoming(steps, steps_after, latch);
  if (trip.handle) b_.add_incoming(trip, trip_after, latch);
  for (const Slot& slot : slots_) {
    for (std::size_t e = 0; e < slot.now.size(); ++e) b_.add_incoming(slot.now[e], slot.updated[e], latch);
    if (slot.home_now.handle) {
      b_.add_incoming(slot.home_now, slot.spare_now, latch);
      b_.add_incoming(slot.spare_now, slot.home_now, latch);
    }
  }

  b_.set_position(retire);
  for (std::size_t r = 0; r < split_.loop->result_count; ++r) {
    const std::size_t k = first_carry + r;
    const auto slot = std::ranges::find(slots_, k, &Slot::operand);
    known_[split_.loop->first_result + r] = slot == slots_.end() ? known_[operands[k]] : slot_place(*slot, false);
  }
  {
    b_.set_lanes(width_);
    Region region(lowering_, *split_.after.graph, width_, ended);
    const Value safe = b_.select(b_.compare(Compare::Lt, ids, end), ids, b_.sub(end, one));
    bind(region, split_.after, safe);
    region.run();
    store_outputs(region, ids, ended);
  }
  lowering_.poll();
  const Block retired = b_.position();
  b_.jump(load);
  b_.add_incoming(free_slots, ended, retired);
  b_.add_incoming(resting, active, retired);
  b_.add_incoming(old_ids, ids, retired);
  if (old_trips.handle) b_.add_incoming(old_trips, trip, retired);
  b_.add_incoming(next_lane, next_after, retired);
  b_.add_incoming(steps_so_far, steps, retired);
  b_.add_incoming(refills, refills_after, retired);
  for (const Slot& slot : slots_) {
    for (std::size_t e = 0; e < slot.loading.size(); ++e) b_.add_incoming(slot.loading[e], slot.now[e], retired);
    if (slot.home_loading.handle) {
      b_.add_incoming(slot.home_loading, slot.home_now, retired);
      b_.add_incoming(slot.spare_loading, slot.spare_now, retired);
    }
  }

  b_.set_position(done);
  b_.set_lanes(1);
  const Operand counts[] = {steps_so_far, refills};
  b_.call_runtime_void("apsis_count_lanes", counts);
}

}  // namespace apsis::detail
