// A loop that lanes leave at their own pace, in packets whose slots are refilled.

#include "codegen/lanes/lane_code.hpp"

namespace apsis::detail {

/// One packet goes through the lanes of the chunk:
///
///   load:   slots whose lanes have ended, all at first, get the next lanes; done when no slot has one
///   head:   which lanes go on? if some do not: retire, otherwise step
///   step:   the loop's body, for all slots; back to head
///   retire: the region's rest for the lanes that ended, whose results are stored; back to load
void LaneCode::write_refilled() {
  const Loop loop(*split_.loop);
  b_.set_lanes(width_);
  Region homes(lowering_, *split_.shared.graph, width_, b_.constant(Dtype::Bool, 0));
  make_slots(homes);
  Region cond(lowering_, *loop.cond, width_), body(lowering_, *loop.body, width_);
  hoist(&cond, body);
  const std::vector<Aval> values = recorded();
  const bool taped = !values.empty();
  ListWriter tape(lowering_, values, width_);
  Pointer events;
  if (taped) {
    tape.make();
    events = make_events();
    publish_tape(tape, events);
  }

  b_.set_lanes(width_);
  const Value all_lanes = b_.constant(Dtype::Bool, 1), no_lane = b_.constant(Dtype::Bool, 0);
  const Value zero = b_.constant(Dtype::I64, 0), one = b_.constant(Dtype::I64, 1), end = b_.splat(last_);
  const Value below = b_.sub(b_.shift_left(one, b_.lane_numbers()), one);
  const Block before = b_.position(), load = b_.make_block("load"), fill = b_.make_block("fill"),
              head = b_.make_block("head"), step = b_.make_block("step"), retire = b_.make_block("retire"),
              done = b_.make_block("done");
  b_.jump(load);

  b_.set_position(load);
  b_.set_lanes(width_);
  const Value free_slots = b_.phi(Dtype::Bool), resting = b_.phi(Dtype::Bool), old_ids = b_.phi(Dtype::I64);
  const Value old_trips = loop.max_steps >= 0 ? b_.phi(Dtype::I64) : Value{};
  b_.set_lanes(1);
  const Value next_lane = b_.phi(Dtype::I64), steps_so_far = b_.phi(Dtype::I64), refills = b_.phi(Dtype::I64);
  const Value steps_since = taped ? b_.phi(Dtype::I64) : Value{};
  const std::vector<SlotPhis> loading = open_slots(before);
  b_.add_incoming(free_slots, all_lanes, before);
  b_.add_incoming(resting, no_lane, before);
  b_.add_incoming(old_ids, zero, before);
  if (old_trips.handle) b_.add_incoming(old_trips, zero, before);
  b_.add_incoming(next_lane, first_, before);
  b_.add_incoming(steps_so_far, b_.index(0), before);
  b_.add_incoming(refills, b_.index(-1), before);
  if (taped) b_.add_incoming(steps_since, b_.index(0), before);
  // The n-th free slot gets the n-th lane to come.
  const Value free_bits = b_.mask_bits(free_slots);
  b_.set_lanes(width_);
  const Value rank = b_.population_count(b_.bit_and(b_.splat(free_bits), below));
  const Value ids = b_.select(free_slots, b_.add(b_.splat(next_lane), rank), old_ids);
  const Value loaded = b_.bit_and(free_slots, b_.compare(Compare::Lt, ids, end));
  const Value active = b_.bit_or(b_.bit_and(resting, b_.bit_not(free_slots)), loaded);
  if (taped) record_event(events, steps_since, b_.bit_and(free_slots, resting), loaded, old_ids, ids);
  b_.set_lanes(1);
  b_.branch(b_.any(active), fill, done, Likely::True);

  b_.set_position(fill);
  const Value next_after = b_.add(next_lane, b_.population_count(free_bits));
  // Events that brought a lane; when none is left slots only fall idle.
  const Value refills_after = b_.add(refills, b_.convert(b_.any(loaded), Dtype::I64));
  b_.set_lanes(width_);
  const Value trips = old_trips.handle ? b_.select(free_slots, zero, old_trips) : Value{};
  enter_lanes(ids, loaded);
  if (taped) tape.resume();
  const Block filled = b_.position();
  b_.jump(head);

  b_.set_position(head);
  b_.set_lanes(1);
  const Value steps = b_.phi(Dtype::I64);
  b_.add_incoming(steps, steps_so_far, filled);
  b_.set_lanes(width_);
  const Value trip = trips.handle ? b_.phi(Dtype::I64) : Value{};
  if (trip.handle) b_.add_incoming(trip, trips, filled);
  const std::vector<SlotPhis> current = open_slots(filled);
  if (taped) tape.open(filled);
  bind_slots(&cond, body, active);
  cond.set_mask(active);
  cond.run();
  const Value go_on =
      splat_to_width(cond.registers(cond.output(0), loop.cond->aval(loop.cond->outputs()[0]))[0]);
  const Value ended = b_.bit_and(active, b_.bit_not(go_on));
  b_.branch(b_.any(ended), retire, step, Likely::False);

  b_.set_position(step);
  if (trip.handle) {
    b_.set_lanes(width_);
    const Value limit = b_.constant(Dtype::I64, static_cast<std::uint64_t>(loop.max_steps));
    const Value exceeded = b_.bit_and(active, b_.compare(Compare::Ge, trip, limit));
    const Block report = b_.make_block("exceeded"), below_limit = b_.make_block("below");
    b_.branch(b_.any(exceeded), report, below_limit, Likely::False);
    b_.set_position(report);
    b_.set_lanes(1);
    const Operand arguments[] = {lowering_.context(), b_.index(loop.max_steps), b_.index(loop.site)};
    lowering_.check(b_.call_runtime("apsis_fail_max_steps", Dtype::I32, arguments));
    b_.jump(below_limit);
    b_.set_position(below_limit);
  }
  if (taped) tape.next();
  std::vector<Place> records;
  for (std::size_t i = 0; i < values.size(); ++i) records.push_back(tape.field(i, body.mask()));
  run_body(body, records);
  lowering_.poll();
  b_.set_lanes(1);
  const Value steps_after = b_.add(steps, b_.index(1));
  b_.set_lanes(width_);
  const Value trip_after = trip.handle ? b_.add(trip, one) : Value{};
  const Block latch = b_.position();
  b_.jump(head);
  b_.add_incoming(steps, steps_after, latch);
  if (trip.handle) b_.add_incoming(trip, trip_after, latch);
  link_slots(current, latch);
  if (taped) tape.link(latch);

  b_.set_position(retire);
  restore_slots(current);
  if (taped) tape.suspend();
  leave_lanes(ids, ended);
  lowering_.poll();
  b_.set_lanes(1);
  const Value since = taped ? b_.sub(steps, steps_so_far) : Value{};
  const Block retired = b_.position();
  b_.jump(load);
  b_.add_incoming(free_slots, ended, retired);
  b_.add_incoming(resting, active, retired);
  b_.add_incoming(old_ids, ids, retired);
  if (old_trips.handle) b_.add_incoming(old_trips, trip, retired);
  b_.add_incoming(next_lane, next_after, retired);
  b_.add_incoming(steps_so_far, steps, retired);
  b_.add_incoming(refills, refills_after, retired);
  if (taped) b_.add_incoming(steps_since, since, retired);
  link_slots(loading, retired);

  b_.set_position(done);
  b_.set_lanes(1);
  if (taped) {
    tape.close_suspended();
    close_events(events);
  }
  const Operand counts[] = {steps_so_far, refills};
  b_.call_runtime_void("apsis_count_lanes", counts);
}

}  // namespace apsis::detail
