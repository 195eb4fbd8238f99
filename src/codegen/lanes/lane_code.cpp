#include "codegen/lanes/lane_code.hpp"

#include <algorithm>
#include <memory>

#include "codegen/lanes/packet_loop.hpp"
#include "passes/analysis/call_cost.hpp"

namespace apsis::detail {

LaneCode::LaneCode(Lowering& lowering, const MapLanesParams& params, LaneSplit split,
                   std::vector<std::size_t> tapes, int width, bool choose)
    : chunk_(lowering, params, std::move(split), width),
      b_(lowering.b),
      tapes_(std::move(tapes)),
      tape_offsets_(chunk_.split.region->outputs().size(), 0) {
  if (choose) chunk_.width *= registers_a_value(params.lanes);
}

namespace {

constexpr std::int64_t most_elements = 32;  // of a loop's state; larger ones would be spilled
constexpr std::size_t most_equations = 600;
constexpr std::int64_t most_length = 2500;  // in instructions: beyond, compiling takes longer than running

/// The largest state of a loop in a program, in elements; 0 if there is no loop.
std::int64_t largest_state(const Graph& graph) {
  std::int64_t most = 0;
  for (const Eqn& e : graph.eqns()) {
    if (is_loop(e)) {
      const Loop loop(e);
      std::int64_t elements = 0;
      for (std::size_t c = 0; c < loop.carries; ++c) elements += loop.body->aval(loop.in_body(c)).size();
      most = std::max(most, elements);
    }
    each_region(e.params, [&](const Graph& region) { most = std::max(most, largest_state(region)); });
  }
  return most;
}

}  // namespace

/// One step of a small loop is a chain of dependent operations that leaves most of the machine idle: two
/// registers a value give it a second chain (measured on Lorenz by Tsit5: 1.6 times the lane-steps a second).
/// Where a packet runs its loops from their beginning to their end, shorter code gains by four, and by eight,
/// too. At least eight packets remain for threads.
int LaneCode::registers_a_value(std::int64_t lanes) const {
  constexpr std::int64_t shortest_code = 150, short_code = 600, fewest_elements = 4, few_elements = 8;
  constexpr std::int64_t register_limit = 16, packets = 8, most_lanes = 64;
  const std::int64_t width = chunk_.width;
  if (lanes < 2 * packets * width) return 1;
  if (chunk_.split.loop) return is_small_loop() ? 2 : 1;
  const Graph& region = *chunk_.split.region;
  const std::int64_t state = largest_state(region), length = code_length(region, register_limit);
  if (state == 0 || state > most_elements || length > most_length) return 1;
  const auto gains = [&](std::int64_t registers, std::int64_t elements, std::int64_t longest) {
    return lanes >= packets * registers * width && registers * width <= most_lanes && state <= elements &&
           length <= longest;
  };
  if (gains(8, fewest_elements, shortest_code)) return 8;
  return gains(4, few_elements, short_code) ? 4 : 2;
}

/// Of the loop whose lanes are replaced one by one.
bool LaneCode::is_small_loop() const {
  std::int64_t elements = 0;
  const auto operands = chunk_.split.region->operands(*chunk_.split.loop);
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (chunk_.split.slots[k] && !chunk_.lies_apart(k))
      elements += chunk_.split.region->aval(operands[k]).size();
  return elements <= most_elements && Loop(*chunk_.split.loop).body->eqns().size() <= most_equations;
}

Function LaneCode::write() {
  const Type parameters[] = {pointer_type, pointer_type, {Dtype::I64, 1}, {Dtype::I64, 1}},
             results[] = {{Dtype::I32, 1}};
  const Function function = b_.declare("lanes", parameters, results);
  b_.begin(function);
  chunk_.enter();
  if (chunk_.split.loop)
    write_loop();
  else
    write_packets();
  b_.set_lanes(1);
  const Value ok = b_.constant(Dtype::I32, static_cast<std::uint64_t>(Status::Ok));
  b_.return_values({&ok, 1});
  chunk_.known.clear();
  scratch_bytes_ = chunk_.lowering.end_function();
  b_.end();
  return function;
}

void LaneCode::write_loop() {
  std::unique_ptr<PacketLoop> loop;
  if (chunk_.split.loop->op->kind == OpKind::Scan)
    loop = std::make_unique<Replay>(chunk_, tapes_);
  else
    loop = std::make_unique<Refill>(chunk_);
  loop->write();
  tape_offsets_ = loop->tape_offsets();
}

/// Packets of neighbouring lanes that run their whole region together.
void LaneCode::write_packets() {
  b_.set_lanes(1);
  const Value lanes = b_.sub(chunk_.last, chunk_.first), width = b_.index(chunk_.width);
  const Value packets =
      chunk_.width == 1 ? lanes : b_.integer_div(b_.add(lanes, b_.index(chunk_.width - 1)), width);
  CountedLoop loop(b_, packets);
  const Value start = b_.add(chunk_.first, b_.mul(loop.index(), width));
  if (chunk_.width == 1)
    write_lane(start);
  else
    write_packet(start);
  chunk_.lowering.poll();
  loop.close();
  b_.set_lanes(1);
  const Operand counts[] = {packets, b_.index(0)};
  b_.call_runtime_void("apsis_count_lanes", counts);
}

void LaneCode::write_lane(Value id) {
  chunk_.note_lanes(id);
  Region region(chunk_.lowering, *chunk_.split.after.graph);
  chunk_.bind(region, chunk_.split.after, id);
  const Graph& graph = *chunk_.split.region;
  const auto is_list = [&](std::size_t i) { return graph.aval(graph.outputs()[i]).is_list(); };
  std::vector<Place> targets;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    targets.push_back(chunk_.target(i, id));
    if (!is_list(i)) region.hint_output(i, targets[i]);
  }
  region.run();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (is_list(i))
      chunk_.store_list(region, i, id);
    else
      region.write_output(i, targets[i]);
  }
}

void LaneCode::write_packet(Value start) {
  b_.set_lanes(chunk_.width);
  const Value ids = b_.add(b_.splat(start), b_.lane_numbers()), end = b_.splat(chunk_.last);
  const Value mask = b_.compare(Compare::Lt, ids, end);
  const Value safe = b_.select(mask, ids, b_.sub(end, b_.constant(Dtype::I64, 1)));
  chunk_.note_lanes(ids);
  Region region(chunk_.lowering, *chunk_.split.after.graph, chunk_.width, mask);
  chunk_.bind(region, chunk_.split.after, safe);
  region.run();
  chunk_.store_outputs(region, ids, mask);
}

}  // namespace apsis::detail
