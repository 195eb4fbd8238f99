// A loop that lanes leave at their own pace: slots whose lanes have ended, all at first, get the next lanes
// of the chunk.

#include "codegen/lanes/packet_loop.hpp"

namespace apsis::detail {

Refill::Refill(LaneChunk& chunk) : PacketLoop(chunk), cond_(chunk.lowering, *loop_.cond, width_) {}

void Refill::prepare() {
  slots_.hoist(&cond_, body_);
  if (taped()) {
    tape_.make();
    const Operand arguments[] = {chunk_.lowering.context(), b_.index(event_bytes())};
    events_ = chunk_.lowering.make("apsis_list_make", arguments);
    publish_tape(events_);
  }
  b_.set_lanes(width_);
  zero_ = b_.constant(Dtype::I64, 0);
  one_ = b_.constant(Dtype::I64, 1);
  end_ = b_.splat(chunk_.last);
  below_ = b_.sub(b_.shift_left(one_, b_.lane_numbers()), one_);
  free_ = b_.make_variable(b_.constant(Dtype::Bool, 1));
  ids_ = b_.make_variable(zero_);
  if (loop_.max_steps >= 0) trips_ = b_.make_variable(zero_);
  b_.set_lanes(1);
  next_lane_ = b_.make_variable(chunk_.first);
  refills_ = b_.make_variable(b_.index(-1));
  if (taped()) steps_since_ = b_.make_variable(b_.index(0));
}

std::vector<Variable> Refill::carried_by_events() const {
  std::vector<Variable> carried{free_, ids_, next_lane_, refills_};
  if (taped()) carried.push_back(steps_since_);
  return carried;
}

std::vector<Variable> Refill::carried_by_steps() const {
  return trips_.made() ? std::vector{trips_} : std::vector<Variable>{};
}

/// The n-th free slot gets the n-th lane to come. Whether some slot has a lane.
Value Refill::find_event() {
  free_now_ = b_.get(free_);
  const Value resting = b_.get(resting_), next = b_.get(next_lane_);
  ids_before_ = b_.get(ids_);
  free_bits_ = b_.mask_bits(free_now_);
  b_.set_lanes(width_);
  const Value rank = b_.population_count(b_.bit_and(b_.splat(free_bits_), below_));
  ids_after_ = b_.select(free_now_, b_.add(b_.splat(next), rank), ids_before_);
  loaded_ = b_.bit_and(free_now_, b_.compare(Compare::Lt, ids_after_, end_));
  active_ = b_.bit_or(b_.bit_and(resting, b_.bit_not(free_now_)), loaded_);
  if (taped()) record_event();
  b_.set_lanes(1);
  return b_.any(active_);
}

void Refill::record_event() {
  const Value left = b_.bit_and(free_now_, b_.get(resting_));
  b_.set_lanes(1);
  const Pointer record = b_.stack(static_cast<std::size_t>(event_bytes()));
  b_.store(b_.offset(record, offsetof(PacketEvent, steps)), b_.get(steps_since_));
  b_.store(b_.offset(record, offsetof(PacketEvent, left)), b_.mask_bits(left));
  b_.store(b_.offset(record, offsetof(PacketEvent, entered)), b_.mask_bits(loaded_));
  b_.set_lanes(width_);
  b_.store(b_.offset(record, event_ids), ids_before_);
  b_.store(b_.offset(record, event_ids + id_bytes * width_), ids_after_);
  const Operand arguments[] = {chunk_.lowering.context(), events_, record};
  chunk_.lowering.check(b_.call_runtime("apsis_list_append", Dtype::I32, arguments));
}

void Refill::begin_event() {
  const Value first = b_.get(next_lane_);
  b_.set(next_lane_, b_.add(first, b_.population_count(free_bits_)));
  // Events that brought a lane; when none is left slots only fall idle.
  b_.set(refills_, b_.add(b_.get(refills_), b_.convert(b_.any(loaded_), Dtype::I64)));
  b_.set(ids_, ids_after_);
  b_.set_lanes(width_);
  if (trips_.made()) b_.set(trips_, b_.select(free_now_, zero_, b_.get(trips_)));
  steps_before_ = b_.get(steps_);
  slots_.enter_lanes(ids_after_, loaded_, first);
}

Value Refill::goes_on() {
  b_.set_lanes(width_);
  slots_.bind(&cond_, body_, active_);
  cond_.set_mask(active_);
  cond_.run();
  const Aval& answer = loop_.cond->aval(loop_.cond->outputs()[0]);
  const Value go_on = chunk_.splat_to_width(cond_.registers(cond_.output(0), answer)[0]);
  ended_ = b_.bit_and(active_, b_.bit_not(go_on));
  b_.set_lanes(1);
  return b_.bit_not(b_.any(ended_));
}

/// No lane may go on for ever.
void Refill::begin_step() {
  if (!trips_.made()) return;
  b_.set_lanes(width_);
  const Value trips = b_.get(trips_);
  const Value limit = b_.constant(Dtype::I64, static_cast<std::uint64_t>(loop_.max_steps));
  const Value exceeded = b_.bit_and(active_, b_.compare(Compare::Ge, trips, limit));
  b_.set(trips_, b_.add(trips, one_));
  b_.set_lanes(1);
  const auto fail = [&] {
    const Operand arguments[] = {chunk_.lowering.context(), b_.index(loop_.max_steps), b_.index(loop_.site)};
    chunk_.lowering.check(b_.call_runtime("apsis_fail_max_steps", Dtype::I32, arguments));
  };
  if_(b_, b_.any(exceeded), fail, Likely::False);
}

void Refill::end_event() {
  slots_.leave_lanes(ids_after_, ended_);
  b_.set(free_, ended_);
  b_.set(resting_, active_);
  b_.set_lanes(1);
  if (taped()) b_.set(steps_since_, b_.sub(b_.get(steps_), steps_before_));
}

void Refill::finish() {
  if (taped()) {
    tape_.close();
    const Operand closing[] = {events_,
                               b_.load_element(b_.offset(events_, offsetof(List, room)), Dtype::I64)};
    b_.call_runtime_void("apsis_list_close", closing);
  }
  const Operand counts[] = {b_.get(steps_), b_.get(refills_)};
  b_.call_runtime_void("apsis_count_lanes", counts);
}

}  // namespace apsis::detail
