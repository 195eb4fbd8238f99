// A loop that lanes leave at their own pace, in packets whose slots are refilled.

#include "codegen/lanes/lane_code.hpp"

namespace apsis::detail {

/// One packet goes through the lanes of the chunk:
///
///   load:   slots whose lanes have ended, all at first, get the next lanes; done when no slot has one
///   head:   which lanes go on? if some do not: retire, otherwise step
///   step:   the loop's body, for all slots; back to head
///   retire: the region's rest for the lanes that ended, whose results are stored; back to load
class LaneCode::Refill {
 public:
  explicit Refill(LaneCode& lanes)
      : lanes_(lanes),
        b_(lanes.b_),
        width_(lanes.width_),
        loop_(*lanes.split_.loop),
        homes_(lanes.lowering_, *lanes.split_.shared.graph, width_, b_.constant(Dtype::Bool, 0)),
        cond_(lanes.lowering_, *loop_.cond, width_),
        body_(lanes.lowering_, *loop_.body, width_),
        values_(lanes.recorded()),
        tape_(lanes.lowering_, values_, width_) {}

  void write() {
    lanes_.make_slots(homes_);
    lanes_.hoist(&cond_, body_);
    if (taped()) {
      tape_.make();
      events_ = lanes_.make_events();
      lanes_.publish_tape(tape_, events_);
    }
    b_.set_lanes(width_);
    const Value all_lanes = b_.constant(Dtype::Bool, 1), no_lane = b_.constant(Dtype::Bool, 0);
    zero_ = b_.constant(Dtype::I64, 0);
    one_ = b_.constant(Dtype::I64, 1);
    end_ = b_.splat(lanes_.last_);
    below_ = b_.sub(b_.shift_left(one_, b_.lane_numbers()), one_);
    const Block before = b_.position(), load = b_.make_block("load"), fill = b_.make_block("fill"),
                head = b_.make_block("head"), step = b_.make_block("step"), retire = b_.make_block("retire"),
                done = b_.make_block("done");
    b_.jump(load);
    b_.set_position(load);
    open_load(before, all_lanes, no_lane);
    b_.branch(choose_lanes(), fill, done, Likely::True);
    b_.set_position(fill);
    fill_slots();
    b_.jump(head);
    b_.set_position(head);
    b_.branch(ask_who_goes_on(), retire, step, Likely::False);
    b_.set_position(step);
    write_step(head);
    b_.set_position(retire);
    write_retire(load);
    b_.set_position(done);
    close();
  }

 private:
  /// What passes from one load of slots to the next.
  struct Passed {
    Value free_slots;      // by lane: the slot's lane has ended
    Value resting;         // by lane: the slot has a lane
    Value ids, trips;      // by lane: its number, its iterations so far (no handle: unbounded)
    Value next_lane;       // of the chunk
    Value steps, refills;  // so far, for the statistics
    Value steps_since;     // the last event; no handle: nothing is recorded
  };

  bool taped() const { return !values_.empty(); }
  bool bounded() const { return loop_.max_steps >= 0; }

  void open_load(Block before, Value all_lanes, Value no_lane) {
    b_.set_lanes(width_);
    at_load_.free_slots = b_.phi(Dtype::Bool);
    at_load_.resting = b_.phi(Dtype::Bool);
    at_load_.ids = b_.phi(Dtype::I64);
    if (bounded()) at_load_.trips = b_.phi(Dtype::I64);
    b_.set_lanes(1);
    at_load_.next_lane = b_.phi(Dtype::I64);
    at_load_.steps = b_.phi(Dtype::I64);
    at_load_.refills = b_.phi(Dtype::I64);
    if (taped()) at_load_.steps_since = b_.phi(Dtype::I64);
    slots_at_load_ = lanes_.open_slots(before);
    link_load({all_lanes, no_lane, zero_, zero_, lanes_.first_, b_.index(0), b_.index(-1), b_.index(0)},
              before);
  }

  void link_load(const Passed& passed, Block from) {
    const auto link = [&](Value phi, Value v) {
      if (phi.handle) b_.add_incoming(phi, v, from);
    };
    link(at_load_.free_slots, passed.free_slots);
    link(at_load_.resting, passed.resting);
    link(at_load_.ids, passed.ids);
    link(at_load_.trips, passed.trips);
    link(at_load_.next_lane, passed.next_lane);
    link(at_load_.steps, passed.steps);
    link(at_load_.refills, passed.refills);
    link(at_load_.steps_since, passed.steps_since);
  }

  /// The n-th free slot gets the n-th lane to come. Whether some slot has a lane.
  Value choose_lanes() {
    const Passed& at = at_load_;
    free_bits_ = b_.mask_bits(at.free_slots);
    b_.set_lanes(width_);
    const Value rank = b_.population_count(b_.bit_and(b_.splat(free_bits_), below_));
    ids_ = b_.select(at.free_slots, b_.add(b_.splat(at.next_lane), rank), at.ids);
    loaded_ = b_.bit_and(at.free_slots, b_.compare(Compare::Lt, ids_, end_));
    active_ = b_.bit_or(b_.bit_and(at.resting, b_.bit_not(at.free_slots)), loaded_);
    if (taped())
      lanes_.record_event(events_, at.steps_since, b_.bit_and(at.free_slots, at.resting), loaded_, at.ids,
                          ids_);
    b_.set_lanes(1);
    return b_.any(active_);
  }

  void fill_slots() {
    next_lane_ = b_.add(at_load_.next_lane, b_.population_count(free_bits_));
    // Events that brought a lane; when none is left slots only fall idle.
    refills_ = b_.add(at_load_.refills, b_.convert(b_.any(loaded_), Dtype::I64));
    b_.set_lanes(width_);
    if (bounded()) trips_ = b_.select(at_load_.free_slots, zero_, at_load_.trips);
    lanes_.enter_lanes(ids_, loaded_);
    if (taped()) tape_.resume();
    filled_ = b_.position();
  }

  /// Opens an iteration and asks the condition. Whether some lane has ended.
  Value ask_who_goes_on() {
    b_.set_lanes(1);
    steps_ = b_.phi(Dtype::I64);
    b_.add_incoming(steps_, at_load_.steps, filled_);
    b_.set_lanes(width_);
    if (bounded()) {
      trip_ = b_.phi(Dtype::I64);
      b_.add_incoming(trip_, trips_, filled_);
    }
    slots_at_head_ = lanes_.open_slots(filled_);
    if (taped()) tape_.open(filled_);
    lanes_.bind_slots(&cond_, body_, active_);
    cond_.set_mask(active_);
    cond_.run();
    const Aval& answer = loop_.cond->aval(loop_.cond->outputs()[0]);
    const Value go_on = lanes_.splat_to_width(cond_.registers(cond_.output(0), answer)[0]);
    ended_ = b_.bit_and(active_, b_.bit_not(go_on));
    return b_.any(ended_);
  }

  void check_bound() {
    if (!bounded()) return;
    b_.set_lanes(width_);
    const Value limit = b_.constant(Dtype::I64, static_cast<std::uint64_t>(loop_.max_steps));
    const Value exceeded = b_.bit_and(active_, b_.compare(Compare::Ge, trip_, limit));
    const Block report = b_.make_block("exceeded"), below_limit = b_.make_block("below");
    b_.branch(b_.any(exceeded), report, below_limit, Likely::False);
    b_.set_position(report);
    b_.set_lanes(1);
    const Operand arguments[] = {lanes_.lowering_.context(), b_.index(loop_.max_steps), b_.index(loop_.site)};
    lanes_.lowering_.check(b_.call_runtime("apsis_fail_max_steps", Dtype::I32, arguments));
    b_.jump(below_limit);
    b_.set_position(below_limit);
  }

  void write_step(Block head) {
    check_bound();
    if (taped()) tape_.next();
    std::vector<Place> records;
    for (std::size_t i = 0; i < values_.size(); ++i) records.push_back(tape_.field(i, body_.mask()));
    lanes_.run_body(body_, records);
    lanes_.lowering_.poll();
    b_.set_lanes(1);
    const Value steps_after = b_.add(steps_, b_.index(1));
    b_.set_lanes(width_);
    const Value trip_after = bounded() ? b_.add(trip_, one_) : Value{};
    const Block latch = b_.position();
    b_.jump(head);
    b_.add_incoming(steps_, steps_after, latch);
    if (bounded()) b_.add_incoming(trip_, trip_after, latch);
    lanes_.link_slots(slots_at_head_, latch);
    if (taped()) tape_.link(latch);
  }

  void write_retire(Block load) {
    lanes_.restore_slots(slots_at_head_);
    if (taped()) tape_.suspend();
    lanes_.leave_lanes(ids_, ended_);
    lanes_.lowering_.poll();
    b_.set_lanes(1);
    const Value since = taped() ? b_.sub(steps_, at_load_.steps) : Value{};
    const Block retired = b_.position();
    b_.jump(load);
    link_load({ended_, active_, ids_, trip_, next_lane_, steps_, refills_, since}, retired);
    lanes_.link_slots(slots_at_load_, retired);
  }

  void close() {
    b_.set_lanes(1);
    if (taped()) {
      tape_.close_suspended();
      lanes_.close_events(events_);
    }
    const Operand counts[] = {at_load_.steps, at_load_.refills};
    b_.call_runtime_void("apsis_count_lanes", counts);
  }

  LaneCode& lanes_;
  Builder& b_;
  const int width_;
  const Loop loop_;
  Region homes_, cond_, body_;
  const std::vector<Aval> values_;  // that the loop records
  ListWriter tape_;
  Pointer events_;
  Value zero_, one_, end_, below_;  // by lane; below: the bits of the lanes before it
  Passed at_load_;
  std::vector<SlotPhis> slots_at_load_, slots_at_head_;
  Value free_bits_, ids_, loaded_, active_;  // after load
  Value next_lane_, refills_, trips_;        // after fill
  Block filled_;
  Value steps_, trip_, ended_;  // of an iteration
};

void LaneCode::write_refilled() {
  b_.set_lanes(width_);
  Refill(*this).write();
}

}  // namespace apsis::detail
