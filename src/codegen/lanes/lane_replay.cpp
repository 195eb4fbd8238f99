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
class LaneCode::Replay {
 public:
  explicit Replay(LaneCode& lanes)
      : lanes_(lanes),
        b_(lanes.b_),
        width_(lanes.width_),
        loop_(lanes.loop_parts()),
        homes_(lanes.lowering_, *lanes.split_.shared.graph, width_, b_.constant(Dtype::Bool, 0)),
        body_(lanes.lowering_, *loop_.body, width_),
        values_(lanes.recorded()),
        tape_(lanes.lowering_, values_, width_) {}

  void write() {
    lanes_.make_slots(homes_);
    lanes_.open_outer_sums(homes_);
    lanes_.hoist(nullptr, body_);
    open_tapes();
    b_.set_lanes(width_);
    const Value no_lane = b_.constant(Dtype::Bool, 0);
    const Block before = b_.position(), event = b_.make_block("event"), found = b_.make_block("found"),
                head = b_.make_block("head"), step = b_.make_block("step"),
                stepped = b_.make_block("stepped"), done = b_.make_block("done");
    b_.jump(event);
    b_.set_position(event);
    open_event(before, no_lane);
    b_.branch(b_.compare(Compare::Lt, number_, event_count_), found, done, Likely::True);
    b_.set_position(found);
    read_event();
    if (loop_.reverse) turn();
    for (ListReader& r : readers_) r.resume();
    if (taped()) tape_.resume();
    const Block ready = b_.position();
    b_.jump(head);
    b_.set_position(head);
    open_head(ready);
    b_.branch(b_.compare(Compare::Lt, trip_, steps_), step, stepped, Likely::True);
    b_.set_position(step);
    write_step(head);
    b_.set_position(stepped);
    end_steps(event);
    b_.set_position(done);
    b_.set_lanes(1);
    const Operand counts[] = {steps_so_far_, b_.index(0)};
    b_.call_runtime_void("apsis_count_lanes", counts);
  }

 private:
  bool taped() const { return !values_.empty(); }

  /// One reader a tape; the x with number k is read by readers_[reader_of_[k]].
  void open_tapes() {
    const auto operands = lanes_.split_.region->operands(*lanes_.split_.loop);
    std::vector<std::size_t> tape_of;
    for (std::size_t k = loop_.first_x(); k < operands.size(); ++k) {
      const ValueId v = operands[k];
      const auto known = std::ranges::find(tape_of, lanes_.tapes_[v]);
      reader_of_.push_back(static_cast<std::size_t>(known - tape_of.begin()));
      const Pointer table = b_.load_pointer(b_.offset(lanes_.in_[v], offsetof(ListValue, list)));
      const Pointer header = b_.load_pointer(lanes_.entry_of_chunk(table));
      if (known == tape_of.end()) {
        tape_of.push_back(lanes_.tapes_[v]);
        readers_.emplace_back(lanes_.lowering_, header, loop_.reverse).reads_records();
      }
      fields_.push_back(lanes_.list_place(lanes_.in_[v], header));
      fields_.back().lanes = width_;
    }
    b_.set_lanes(1);
    const Pointer events = b_.load_pointer(b_.offset(readers_[0].list(), offsetof(List, events)));
    event_count_ = b_.load_element(b_.offset(events, offsetof(List, count)), Dtype::I64);
    cursor_ = b_.stack(sizeof(ListCursor));
    const Operand opening[] = {events, cursor_, b_.index(loop_.reverse)};
    b_.call_runtime_void("apsis_list_open", opening);
    if (!taped()) return;
    tape_.make(readers_[0].length(), loop_.reverse);
    lanes_.publish_tape(tape_, events);
  }

  /// What passes from event to event.
  void open_event(Block before, Value no_lane) {
    b_.set_lanes(width_);
    resting_ = b_.phi(Dtype::Bool);
    b_.add_incoming(resting_, no_lane, before);
    b_.set_lanes(1);
    number_ = b_.phi(Dtype::I64);
    steps_so_far_ = b_.phi(Dtype::I64);
    b_.add_incoming(number_, b_.index(0), before);
    b_.add_incoming(steps_so_far_, b_.index(0), before);
    slots_at_event_ = lanes_.open_slots(before);
    b_.set_lanes(1);
  }

  void read_event() {
    const Operand next[] = {cursor_};
    const Pointer record = b_.call_runtime_pointer("apsis_list_next", next);
    const auto field = [&](std::size_t at) {
      b_.set_lanes(1);
      return b_.load_element(b_.offset(record, static_cast<std::int64_t>(at)), Dtype::I64);
    };
    steps_ = field(offsetof(PacketEvent, steps));
    const Value left = lanes_.mask_of(field(offsetof(PacketEvent, left))),
                entered = lanes_.mask_of(field(offsetof(PacketEvent, entered)));
    b_.set_lanes(width_);
    const Value ids_before = b_.load(b_.offset(record, event_ids), Dtype::I64),
                ids_after = b_.load(b_.offset(record, event_ids + id_bytes * width_), Dtype::I64);
    leaving_ = loop_.reverse ? entered : left;
    entering_ = loop_.reverse ? left : entered;
    leaving_ids_ = loop_.reverse ? ids_after : ids_before;
    entering_ids_ = loop_.reverse ? ids_before : ids_after;
    active_after_ = b_.bit_or(b_.bit_and(resting_, b_.bit_not(leaving_)), entering_);
  }

  /// Lanes leave the loop, and others enter.
  void turn() {
    const Block leave = b_.make_block("leave"), enter = b_.make_block("enter"), load = b_.make_block("load"),
                turned = b_.make_block("turned");
    b_.set_lanes(1);
    b_.branch(b_.any(leaving_), leave, enter);
    b_.set_position(leave);
    lanes_.leave_lanes(leaving_ids_, leaving_);
    b_.jump(enter);
    b_.set_position(enter);
    b_.set_lanes(1);
    b_.branch(b_.any(entering_), load, turned);
    b_.set_position(load);
    std::vector<Slot> kept = lanes_.slots_;
    b_.set_lanes(width_);
    lanes_.enter_lanes(entering_ids_, entering_);
    const Block loaded = b_.position();
    b_.jump(turned);
    b_.set_position(turned);
    const std::vector<SlotPhis> phis = lanes_.open_slots(loaded);
    std::swap(lanes_.slots_, kept);
    lanes_.link_slots(phis, enter);
    lanes_.restore_slots(phis);
  }

  /// What passes from step to step.
  void open_head(Block ready) {
    b_.set_lanes(1);
    trip_ = b_.phi(Dtype::I64);
    b_.add_incoming(trip_, b_.index(0), ready);
    slots_at_head_ = lanes_.open_slots(ready);
    for (ListReader& r : readers_) r.open(ready);
    if (taped()) tape_.open(ready);
    b_.set_lanes(1);
  }

  void write_step(Block head) {
    for (ListReader& r : readers_) r.next();
    if (taped()) tape_.next();
    lanes_.bind_slots(nullptr, body_, loop_.reverse ? active_after_ : resting_);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto input = static_cast<ValueId>(loop_.first_x() + i);
      const Aval& aval = loop_.body->aval(input);
      Place place = readers_[reader_of_[i]].field(fields_[i], aval);
      if (lanes_.in_registers(aval)) {
        place.elements = body_.registers(place, aval);
        place.kind = Place::Kind::Registers;
      }
      body_.bind_input(input, std::move(place));
    }
    std::vector<Place> records = lanes_.outer_vectors(body_.mask());
    for (std::size_t i = 0; i < values_.size(); ++i) records.push_back(tape_.field(i, body_.mask()));
    lanes_.run_body(body_, records);
    lanes_.keep_outer_vectors();
    lanes_.lowering_.poll();
    b_.set_lanes(1);
    const Value next_trip = b_.add(trip_, b_.index(1));
    const Block latch = b_.position();
    b_.jump(head);
    b_.add_incoming(trip_, next_trip, latch);
    lanes_.link_slots(slots_at_head_, latch);
    for (ListReader& r : readers_) r.link(latch);
    if (taped()) tape_.link(latch);
  }

  /// All steps up to the event have been made.
  void end_steps(Block event) {
    lanes_.restore_slots(slots_at_head_);
    lanes_.flush_outer_sums();
    for (ListReader& r : readers_) r.suspend();
    if (taped()) tape_.suspend();
    b_.set_lanes(1);
    const Value all_steps = b_.add(steps_so_far_, steps_), next_number = b_.add(number_, b_.index(1));
    if (!loop_.reverse) turn();
    lanes_.lowering_.poll();
    const Block last = b_.position();
    b_.jump(event);
    b_.add_incoming(resting_, active_after_, last);
    b_.add_incoming(number_, next_number, last);
    b_.add_incoming(steps_so_far_, all_steps, last);
    lanes_.link_slots(slots_at_event_, last);
  }

  LaneCode& lanes_;
  Builder& b_;
  const int width_;
  const Loop loop_;
  Region homes_, body_;
  const std::vector<Aval> values_;  // that the loop records
  ListWriter tape_;
  std::vector<ListReader> readers_;
  std::vector<std::size_t> reader_of_;
  std::vector<Place> fields_;  // by x
  Pointer cursor_;             // in the events
  Value event_count_;
  Value resting_, number_, steps_so_far_;  // at an event: the lanes in the loop, its number
  Value steps_, leaving_, entering_, leaving_ids_, entering_ids_, active_after_;  // of the event
  Value trip_;
  std::vector<SlotPhis> slots_at_event_, slots_at_head_;
};

void LaneCode::write_replayed() {
  b_.set_lanes(width_);
  Replay(*this).write();
}

}  // namespace apsis::detail
