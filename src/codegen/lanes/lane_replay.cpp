// Tapes of packets: the events that a refilled loop records, and the scan that goes through them again,
// backwards for the gradient. Lanes enter and leave at the events, so each lane sees its own steps in order
// and no other's.

#include <algorithm>
#include <cstddef>

#include "codegen/lanes/lane_code.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t event_ids = sizeof(PacketEvent);
constexpr std::int64_t id_bytes = sizeof(std::int64_t);

}  // namespace

/// What the loop records, in the order of its results.
std::vector<Aval> LaneCode::recorded() const {
  const Loop loop(*split_.loop);
  std::vector<Aval> values;
  for (std::size_t i = loop.carries; i < loop.body->outputs().size(); ++i)
    values.push_back(loop.body->aval(loop.body->outputs()[i]));
  return values;
}

/// The chunk's entry in a table: that of its first packet.
Pointer LaneCode::entry_of_chunk(Pointer table) {
  b_.set_lanes(1);
  return element_address(table, b_.integer_div(first_, b_.index(width_)), sizeof(void*));
}

Pointer LaneCode::make_events() {
  b_.set_lanes(1);
  const Operand arguments[] = {lowering_.context(), b_.index(event_ids + 2 * id_bytes * width_)};
  return lowering_.make("apsis_list_make", arguments);
}

void LaneCode::close_events(Pointer events) {
  b_.set_lanes(1);
  const Operand arguments[] = {events, b_.load_element(b_.offset(events, offsetof(List, room)), Dtype::I64)};
  b_.call_runtime_void("apsis_list_close", arguments);
}

/// Puts the chunk's tape in the tables of the results that it holds.
void LaneCode::publish_tape(const ListWriter& tape, Pointer events) {
  b_.set_lanes(1);
  const Operand both[] = {tape.header(), events};
  b_.call_runtime_void("apsis_list_set_events", both);
  const Loop loop(*split_.loop);
  const auto outputs = split_.region->outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!split_.region->aval(outputs[i]).is_list()) continue;
    tape_offsets_[i] = tape.offset(outputs[i] - split_.loop->first_result - loop.carries);
    b_.store_pointer(entry_of_chunk(b_.load_pointer(b_.offset(out_[i], offsetof(ListValue, list)))),
                     tape.header());
  }
}

void LaneCode::record_event(Pointer events, Value steps, Value left, Value entered, Value before,
                            Value after) {
  b_.set_lanes(1);
  const Pointer record = b_.stack(static_cast<std::size_t>(event_ids + 2 * id_bytes * width_));
  b_.store(b_.offset(record, offsetof(PacketEvent, steps)), steps);
  b_.store(b_.offset(record, offsetof(PacketEvent, left)), b_.mask_bits(left));
  b_.store(b_.offset(record, offsetof(PacketEvent, entered)), b_.mask_bits(entered));
  b_.set_lanes(width_);
  b_.store(b_.offset(record, event_ids), before);
  b_.store(b_.offset(record, event_ids + id_bytes * width_), after);
  const Operand arguments[] = {lowering_.context(), events, record};
  lowering_.check(b_.call_runtime("apsis_list_append", Dtype::I32, arguments));
}

/// Ids that may be read: those of slots without a lane may lie beyond the chunk.
Value LaneCode::safe_ids(Value ids) {
  b_.set_lanes(width_);
  const Value end = b_.splat(last_);
  return b_.select(b_.compare(Compare::Lt, ids, end), ids, b_.sub(end, b_.constant(Dtype::I64, 1)));
}

/// The lanes whose bits are set.
Value LaneCode::mask_of(Value bits) {
  b_.set_lanes(width_);
  const Value one = b_.constant(Dtype::I64, 1);
  return b_.compare(Compare::Ne, b_.bit_and(b_.splat(bits), b_.shift_left(one, b_.lane_numbers())),
                    b_.constant(Dtype::I64, 0));
}

/// One packet goes through the events of the tape, forwards
///
///   event: the next one; done when there is none
///   head:  as many steps as lie between it and the event before: step
///   turn:  lanes leave the loop and others enter; back to event
///
/// or backwards, with turn before head; then those leave that had entered.
void LaneCode::write_replayed() {
  const Loop loop = loop_parts();
  const Graph& graph = *split_.region;
  const auto operands = graph.operands(*split_.loop);
  b_.set_lanes(width_);
  Region homes(lowering_, *split_.shared.graph, width_, b_.constant(Dtype::Bool, 0));
  make_slots(homes);
  open_outer_sums(homes);
  Region body(lowering_, *loop.body, width_);
  hoist(nullptr, body);

  // One reader a tape; operand k is read by readers[reader_of[k - first_x]].
  std::vector<ListReader> readers;
  std::vector<std::size_t> reader_of, tape_of;
  std::vector<Place> fields;
  for (std::size_t k = loop.first_x(); k < operands.size(); ++k) {
    const ValueId v = operands[k];
    const auto known = std::ranges::find(tape_of, tapes_[v]);
    reader_of.push_back(static_cast<std::size_t>(known - tape_of.begin()));
    const Pointer header =
        b_.load_pointer(entry_of_chunk(b_.load_pointer(b_.offset(in_[v], offsetof(ListValue, list)))));
    if (known == tape_of.end()) {
      tape_of.push_back(tapes_[v]);
      readers.emplace_back(lowering_, header, loop.reverse).reads_records();
    }
    fields.push_back(list_place(in_[v], header));
    fields.back().lanes = width_;
  }
  b_.set_lanes(1);
  const Pointer events = b_.load_pointer(b_.offset(readers[0].list(), offsetof(List, events)));
  const Value event_count = b_.load_element(b_.offset(events, offsetof(List, count)), Dtype::I64);
  const Pointer cursor = b_.stack(sizeof(ListCursor));
  const Operand opening[] = {events, cursor, b_.index(loop.reverse)};
  b_.call_runtime_void("apsis_list_open", opening);
  const std::vector<Aval> values = recorded();
  const bool taped = !values.empty();
  ListWriter tape(lowering_, values, width_);
  if (taped) {
    tape.make(readers[0].length(), loop.reverse);
    publish_tape(tape, events);
  }

  b_.set_lanes(width_);
  const Value no_lane = b_.constant(Dtype::Bool, 0);
  const Block before = b_.position(), event = b_.make_block("event"), found = b_.make_block("found"),
              head = b_.make_block("head"), step = b_.make_block("step"), stepped = b_.make_block("stepped"),
              done = b_.make_block("done");
  b_.jump(event);

  b_.set_position(event);
  b_.set_lanes(width_);
  const Value resting = b_.phi(Dtype::Bool);
  b_.add_incoming(resting, no_lane, before);
  b_.set_lanes(1);
  const Value number = b_.phi(Dtype::I64), steps_so_far = b_.phi(Dtype::I64);
  b_.add_incoming(number, b_.index(0), before);
  b_.add_incoming(steps_so_far, b_.index(0), before);
  const std::vector<SlotPhis> waiting = open_slots(before);
  b_.set_lanes(1);
  b_.branch(b_.compare(Compare::Lt, number, event_count), found, done, Likely::True);

  b_.set_position(found);
  const Operand next[] = {cursor};
  const Pointer record = b_.call_runtime_pointer("apsis_list_next", next);
  const auto field = [&](std::size_t at) {
    b_.set_lanes(1);
    return b_.load_element(b_.offset(record, static_cast<std::int64_t>(at)), Dtype::I64);
  };
  const Value steps = field(offsetof(PacketEvent, steps));
  const Value left = mask_of(field(offsetof(PacketEvent, left))),
              entered = mask_of(field(offsetof(PacketEvent, entered)));
  b_.set_lanes(width_);
  const Value ids_before = b_.load(b_.offset(record, event_ids), Dtype::I64);
  const Value ids_after = b_.load(b_.offset(record, event_ids + id_bytes * width_), Dtype::I64);
  const Value leaving = loop.reverse ? entered : left, entering = loop.reverse ? left : entered;
  const Value active_after = b_.bit_or(b_.bit_and(resting, b_.bit_not(leaving)), entering);
  const auto turn = [&] {
    const Block leave = b_.make_block("leave"), enter = b_.make_block("enter"), load = b_.make_block("load"),
                turned = b_.make_block("turned");
    b_.set_lanes(1);
    b_.branch(b_.any(leaving), leave, enter);
    b_.set_position(leave);
    leave_lanes(loop.reverse ? ids_after : ids_before, leaving);
    b_.jump(enter);
    b_.set_position(enter);
    b_.set_lanes(1);
    b_.branch(b_.any(entering), load, turned);
    b_.set_position(load);
    const Block entered_none = enter;
    std::vector<Slot> kept = slots_;
    b_.set_lanes(width_);
    enter_lanes(loop.reverse ? ids_before : ids_after, entering);
    const Block loaded = b_.position();
    b_.jump(turned);
    b_.set_position(turned);
    const std::vector<SlotPhis> phis = open_slots(loaded);
    std::swap(slots_, kept);
    link_slots(phis, entered_none);
    restore_slots(phis);
  };

  if (loop.reverse) turn();
  for (ListReader& r : readers) r.resume();
  if (taped) tape.resume();
  const Value active = loop.reverse ? active_after : resting;
  const Block ready = b_.position();
  b_.jump(head);
  b_.set_position(head);
  b_.set_lanes(1);
  const Value trip = b_.phi(Dtype::I64);
  b_.add_incoming(trip, b_.index(0), ready);
  const std::vector<SlotPhis> current = open_slots(ready);
  for (ListReader& r : readers) r.open(ready);
  if (taped) tape.open(ready);
  b_.set_lanes(1);
  b_.branch(b_.compare(Compare::Lt, trip, steps), step, stepped, Likely::True);

  b_.set_position(step);
  for (ListReader& r : readers) r.next();
  if (taped) tape.next();
  bind_slots(nullptr, body, active);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto input = static_cast<ValueId>(loop.first_x() + i);
    const Aval& aval = loop.body->aval(input);
    Place place = readers[reader_of[i]].field(fields[i], aval);
    if (in_registers(aval)) {
      place.elements = body.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
    body.bind_input(input, std::move(place));
  }
  std::vector<Place> records = outer_vectors(body.mask());
  for (std::size_t i = 0; i < values.size(); ++i) records.push_back(tape.field(i, body.mask()));
  run_body(body, records);
  keep_outer_vectors();
  lowering_.poll();
  b_.set_lanes(1);
  const Value next_trip = b_.add(trip, b_.index(1));
  const Block latch = b_.position();
  b_.jump(head);
  b_.add_incoming(trip, next_trip, latch);
  link_slots(current, latch);
  for (ListReader& r : readers) r.link(latch);
  if (taped) tape.link(latch);

  b_.set_position(stepped);
  restore_slots(current);
  flush_outer_sums();
  for (ListReader& r : readers) r.suspend();
  if (taped) tape.suspend();
  b_.set_lanes(1);
  const Value all_steps = b_.add(steps_so_far, steps), next_number = b_.add(number, b_.index(1));
  if (!loop.reverse) turn();
  lowering_.poll();
  const Block last = b_.position();
  b_.jump(event);
  b_.add_incoming(resting, active_after, last);
  b_.add_incoming(number, next_number, last);
  b_.add_incoming(steps_so_far, all_steps, last);
  link_slots(waiting, last);

  b_.set_position(done);
  b_.set_lanes(1);
  const Operand counts[] = {steps_so_far, b_.index(0)};
  b_.call_runtime_void("apsis_count_lanes", counts);
}

}  // namespace apsis::detail
