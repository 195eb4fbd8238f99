#include "ir/region_flow.hpp"

#include <algorithm>

namespace apsis::detail {
namespace {

RegionFlow called(const Graph& region, Runs runs, std::size_t first_operand = 0) {
  return {.region = &region, .runs = runs, .first_operand = first_operand, .consts = region.input_count()};
}

std::vector<RegionFlow> loop_flows(const Loop& loop) {
  RegionFlow body{.region = loop.body,
                  .runs = Runs::Repeatedly,
                  .first_operand = loop.cond_consts,
                  .consts = loop.consts,
                  .first_carry = loop.first_carry(),
                  .carries = loop.carries,
                  .counted_by_lists = !loop.cond && loop.length < 0};
  if (!loop.cond) return {body};
  RegionFlow cond = body;
  cond.region = loop.cond;
  cond.first_operand = 0;
  cond.consts = loop.cond_consts;
  cond.gives_results = false;
  return {cond, body};
}

std::size_t count(std::span<const char> marks) {
  return static_cast<std::size_t>(std::ranges::count(marks, char{1}));
}

}  // namespace

std::vector<RegionFlow> region_flows(const Eqn& e) {
  switch (e.op->kind) {
    case OpKind::While:
    case OpKind::Scan:
      return loop_flows(Loop(e));
    case OpKind::Cond: {
      std::vector<RegionFlow> branches;
      for (const GraphRef& branch : e.params.as<CondParams>().branches)
        branches.push_back(called(*branch, Runs::Chosen, 1));
      return branches;
    }
    case OpKind::MapLanes: {
      const auto& p = e.params.as<MapLanesParams>();
      RegionFlow lane = called(*p.region, Runs::ByLane);
      lane.lane_axes = &p.in_axes;
      return {lane};
    }
    case OpKind::Call:
      return {called(*e.params.as<CallParams>().region, Runs::Once)};
    case OpKind::Custom:
      return {called(*regions_of(e.params)[0], Runs::Wrapped)};
    default:
      return {};
  }
}

Params params_with(const Eqn& e, const Kept& kept, const PartOf& part) {
  LoopRegions left;
  for (const RegionFlow& flow : region_flows(e)) {
    std::vector<char> inputs;
    for (std::size_t i = 0; i < flow.region->input_count(); ++i)
      inputs.push_back(kept.operands[flow.operand_of(i)]);
    const std::size_t consts = count(std::span(inputs).first(flow.consts));
    const std::vector<char> condition(1, 1);
    GraphRef region = part(*flow.region, inputs, flow.gives_results ? kept.results : condition);
    (flow.gives_results ? left.body : left.cond) = std::move(region);
    (flow.gives_results ? left.consts : left.cond_consts) = consts;
    left.carries = count(std::span(inputs).subspan(flow.consts, flow.carries));
  }
  if (is_loop(e)) return with_loop_regions(e, left);
  MapLanesParams p = e.params.as<MapLanesParams>();
  Dims axes;
  for (std::size_t k = 0; k < kept.operands.size(); ++k)
    if (kept.operands[k]) axes.push_back(p.in_axes[k]);
  p.region = left.body;
  p.in_axes = axes;
  return make_params(std::move(p));
}

}  // namespace apsis::detail
