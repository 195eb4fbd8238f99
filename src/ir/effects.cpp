// What an equation does beside computing its results: effects, and work across the lanes of a named axis.

#include <algorithm>

#include "ir/copy.hpp"
#include "ir/effects.hpp"

namespace apsis::detail {
namespace {
thread_local const LaneScope* lane = nullptr;
}

LaneScope::LaneScope(std::int64_t index, std::span<const std::int64_t> nest)
    : index_(index), nest_(nest), outer_(lane) {
  lane = this;
}
LaneScope::~LaneScope() { lane = outer_; }

std::vector<std::int64_t> current_lanes() {
  std::vector<std::int64_t> lanes;
  for (const LaneScope* l = lane; l; l = l->outer_) {
    std::int64_t index = l->index_;
    for (std::size_t k = l->nest_.size(); k > 1; index /= l->nest_[--k])
      lanes.insert(lanes.begin(), index % l->nest_[k - 1]);
    lanes.insert(lanes.begin(), index);
  }
  return lanes;
}

bool calls_host(const Graph& graph) {
  return std::ranges::any_of(graph.eqns(), [](const Eqn& e) {
    bool found = e.op->kind == OpKind::Effect && !e.op->written_out;
    each_region(e.params, [&](const Graph& region) { found |= calls_host(region); });
    return found;
  });
}

bool has_effect_in_lanes(const Graph& graph) {
  return graph.has_effect() && std::ranges::any_of(graph.eqns(), [](const Eqn& e) {
           bool found = e.op->effect && !e.op->shared_by_lanes;
           each_region(e.params, [&](const Graph& region) { found |= has_effect_in_lanes(region); });
           return found;
         });
}

bool has_effect(const Op& op, const Params& params) {
  bool found = op.effect;
  each_region(params, [&](const Graph& region) { found |= region.has_effect(); });
  return found;
}

bool uses_axis(const Graph& graph, std::string_view axis) {
  return std::ranges::any_of(graph.axes(), [&](const std::string& a) { return a.empty() || a == axis; });
}

bool uses_axis(const Op& op, const Params& params, std::string_view axis) {
  if (op.axis) {
    std::string_view own = op.axis(params);
    if (own.empty() || own == axis) return true;
  }
  bool found = false;
  each_region(params, [&](const Graph& region) { found |= uses_axis(region, axis); });
  return found;
}

GraphRef without_effects(const Graph& graph) {
  if (!graph.has_effect()) return GraphRef(&graph);
  std::vector<char> needed(graph.value_count(), 0);
  const auto is_needed = [&](const Eqn& e) {
    const auto first = needed.begin() + e.first_result;
    return std::find(first, first + e.result_count, 1) != first + e.result_count;
  };
  for (ValueId v : graph.outputs()) needed[v] = 1;
  for (std::size_t i = graph.eqns().size(); i-- > 0;)
    if (const Eqn& e = graph.eqns()[i]; is_needed(e))
      for (ValueId v : graph.operands(e)) needed[v] = 1;
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (const Eqn& e : graph.eqns())
    if (is_needed(e)) copy.add(e, map_regions(e.params, without_effects));
  return builder.finish(copy.outputs());
}

}  // namespace apsis::detail
