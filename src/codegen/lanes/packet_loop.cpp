#include "codegen/lanes/packet_loop.hpp"

namespace apsis::detail {
namespace {

std::vector<Aval> recorded(const Loop& loop) {
  std::vector<Aval> values;
  for (std::size_t i = loop.carries; i < loop.body->outputs().size(); ++i)
    values.push_back(loop.body->aval(loop.body->outputs()[i]));
  return values;
}

Value no_lane(Builder& b, int width) {
  b.set_lanes(width);
  return b.constant(Dtype::Bool, 0);
}

}  // namespace

PacketLoop::PacketLoop(LaneChunk& chunk)
    : chunk_(chunk),
      b_(chunk.b),
      width_(chunk.width),
      loop_(chunk.loop_parts()),
      homes_(chunk.lowering, *chunk.split.shared.graph, width_, no_lane(b_, width_)),
      body_(chunk.lowering, *loop_.body, width_),
      slots_(chunk, homes_),
      sums_(chunk, slots_, homes_),
      values_(recorded(Loop(*chunk.split.loop))),
      tape_(chunk.lowering, values_, width_),
      tape_offsets_(chunk.split.region->outputs().size(), 0) {}

void PacketLoop::write() {
  prepare();
  resting_ = b_.make_variable(no_lane(b_, width_));
  steps_ = b_.make_variable(b_.index(0));
  std::vector<Variable> by_steps = carried_by_steps(), by_events = carried_by_events();
  by_steps.push_back(steps_);
  slots_.add_variables(by_steps);
  if (taped()) tape_.add_variables(by_steps);
  by_events.push_back(resting_);
  by_events.insert(by_events.end(), by_steps.begin(), by_steps.end());
  const auto event = [&] {
    begin_event();
    loop(
        b_, by_steps, [&] { return goes_on(); }, [&] { step(); }, Likely::True);
    end_event();
    chunk_.lowering.poll();
  };
  loop(
      b_, by_events, [&] { return find_event(); }, event, Likely::True);
  b_.set_lanes(1);
  finish();
}

void PacketLoop::step() {
  begin_step();
  if (taped()) tape_.next();
  std::vector<Place> records = sums_.vectors(body_.mask());
  for (std::size_t i = 0; i < values_.size(); ++i) records.push_back(tape_.field(i, body_.mask()));
  slots_.run_body(body_, records);
  sums_.keep();
  chunk_.lowering.poll();
  b_.set_lanes(1);
  b_.set(steps_, b_.add(b_.get(steps_), b_.index(1)));
}

void PacketLoop::publish_tape(Pointer events) {
  b_.set_lanes(1);
  const Operand both[] = {tape_.header(), events};
  b_.call_runtime_void("apsis_list_set_events", both);
  const Graph& region = *chunk_.split.region;
  for (std::size_t i = 0; i < tape_offsets_.size(); ++i) {
    const ValueId output = region.outputs()[i];
    if (!region.aval(output).is_list()) continue;
    tape_offsets_[i] = tape_.offset(output - chunk_.split.loop->first_result - loop_.carries);
    b_.store_pointer(chunk_.entry_of_chunk(chunk_.lists_of_result(i)), tape_.header());
  }
}

}  // namespace apsis::detail
