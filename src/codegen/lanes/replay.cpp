// The scan that goes through the tape of a packet again, backwards for the gradient. Lanes enter and leave at
// the events, so each lane sees its own steps in order and no other's.

#include <algorithm>

#include "codegen/lanes/packet_loop.hpp"

namespace apsis::detail {

Replay::Replay(LaneChunk& chunk, std::span<const std::size_t> tapes) : PacketLoop(chunk), tapes_(tapes) {}

void Replay::prepare() {
  slots_.hoist(nullptr, body_);
  open_tapes();
  b_.set_lanes(1);
  const Pointer events = b_.load_pointer(b_.offset(readers_[0].list(), offsetof(List, events)));
  event_count_ = b_.load_element(b_.offset(events, offsetof(List, count)), Dtype::I64);
  cursor_ = b_.stack(sizeof(ListCursor));
  const Operand opening[] = {events, cursor_, b_.index(loop_.reverse)};
  b_.call_runtime_void("apsis_list_open", opening);
  number_ = b_.make_variable(b_.index(0));
  if (!taped()) return;
  tape_.make(readers_[0].length(), loop_.reverse);
  publish_tape(events);
}

/// One reader a tape.
void Replay::open_tapes() {
  const auto operands = chunk_.split.region->operands(*chunk_.split.loop);
  std::vector<std::size_t> tape_of;  // by reader
  for (std::size_t k = loop_.first_x(); k < operands.size(); ++k) {
    const ValueId v = operands[k];
    const auto known = std::ranges::find(tape_of, tapes_[v]);
    reader_of_.push_back(static_cast<std::size_t>(known - tape_of.begin()));
    const Pointer header = b_.load_pointer(chunk_.entry_of_chunk(chunk_.lists_of_operand(v)));
    if (known == tape_of.end()) {
      tape_of.push_back(tapes_[v]);
      readers_.emplace_back(chunk_.lowering, header, loop_.reverse).reads_records();
    }
    fields_.push_back(chunk_.list_place(v, header));
    fields_.back().lanes = width_;
  }
}

std::vector<Variable> Replay::carried_by_events() const { return {number_}; }

std::vector<Variable> Replay::carried_by_steps() const {
  std::vector<Variable> carried;
  for (const ListReader& r : readers_) r.add_variables(carried);
  return carried;
}

Value Replay::find_event() {
  b_.set_lanes(1);
  return b_.compare(Compare::Lt, b_.get(number_), event_count_);
}

void Replay::begin_event() {
  const Operand next[] = {cursor_};
  const Pointer record = b_.call_runtime_pointer("apsis_list_next", next);
  const auto field = [&](std::size_t at) {
    b_.set_lanes(1);
    return b_.load_element(b_.offset(record, static_cast<std::int64_t>(at)), Dtype::I64);
  };
  last_step_ = b_.add(b_.get(steps_), field(offsetof(PacketEvent, steps)));
  const Value left = mask_of(field(offsetof(PacketEvent, left))),
              entered = mask_of(field(offsetof(PacketEvent, entered)));
  b_.set_lanes(width_);
  const Value ids_before = b_.load(b_.offset(record, event_ids), Dtype::I64),
              ids_after = b_.load(b_.offset(record, event_ids + id_bytes * width_), Dtype::I64);
  leaving_ = loop_.reverse ? entered : left;
  entering_ = loop_.reverse ? left : entered;
  leaving_ids_ = loop_.reverse ? ids_after : ids_before;
  entering_ids_ = loop_.reverse ? ids_before : ids_after;
  active_after_ = b_.bit_or(b_.bit_and(b_.get(resting_), b_.bit_not(leaving_)), entering_);
  // Backwards the steps between two events come after the one that ends them.
  if (loop_.reverse) turn();
}

/// The lanes whose bits are set.
Value Replay::mask_of(Value bits) {
  b_.set_lanes(width_);
  const Value one = b_.constant(Dtype::I64, 1);
  return b_.compare(Compare::Ne, b_.bit_and(b_.splat(bits), b_.shift_left(one, b_.lane_numbers())),
                    b_.constant(Dtype::I64, 0));
}

/// Lanes leave the loop, and others enter.
void Replay::turn() {
  b_.set_lanes(1);
  if_(b_, b_.any(leaving_), [&] { slots_.leave_lanes(leaving_ids_, leaving_); });
  b_.set_lanes(1);
  if_(b_, b_.any(entering_), [&] {
    b_.set_lanes(width_);
    slots_.enter_lanes(entering_ids_, entering_);
  });
}

Value Replay::goes_on() {
  b_.set_lanes(1);
  return b_.compare(Compare::Lt, b_.get(steps_), last_step_);
}

void Replay::begin_step() {
  for (ListReader& r : readers_) r.next();
  slots_.bind(nullptr, body_, loop_.reverse ? active_after_ : b_.get(resting_));
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const auto input = static_cast<ValueId>(loop_.first_x() + i);
    const Aval& aval = loop_.body->aval(input);
    Place place = readers_[reader_of_[i]].field(fields_[i], aval);
    if (chunk_.in_registers(aval)) {
      place.elements = body_.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
    body_.bind_input(input, std::move(place));
  }
}

/// All steps up to the event have been made.
void Replay::end_event() {
  sums_.flush();
  if (!loop_.reverse) turn();
  b_.set_lanes(1);
  b_.set(number_, b_.add(b_.get(number_), b_.index(1)));
  b_.set(resting_, active_after_);
}

void Replay::finish() {
  const Operand counts[] = {b_.get(steps_), b_.index(0)};
  b_.call_runtime_void("apsis_count_lanes", counts);
}

}  // namespace apsis::detail
