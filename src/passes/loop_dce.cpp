#include "passes/loop_dce.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ir/region_flow.hpp"

namespace apsis::detail {
namespace {

using Marks = std::vector<char>;

/// Cuts down the graphs of a program. On the way back through a loop over lists its linear ones are made, so
/// another has to tell the length; the first is none of the linear ones, and stays if `will_be_transposed`.
class Cutting {
 public:
  explicit Cutting(bool will_be_transposed) : will_be_transposed_(will_be_transposed) {}
  /// The values that the marked outputs, and effects, are computed from.
  Marks live_values(const Graph& graph, const Marks& outputs) const;
  /// The graph from all inputs to all outputs.
  GraphRef whole(const Graph& graph) const;
  /// The graph from the marked inputs to the marked outputs; nothing that is needed may hang on the others.
  GraphRef prune(const Graph& graph, const Marks& inputs, const Marks& outputs) const;

 private:
  Kept kept_of(const Eqn& e, const Marks& values) const;
  void add_cut_down(GraphBuilder& builder, GraphCopy& copy, const Graph& graph, const Eqn& e,
                    const Kept& kept) const;

  const bool will_be_transposed_;
};

/// The results that are read, the carries that these, a condition or an effect are computed from, and the
/// operands that a region reads for them.
Kept Cutting::kept_of(const Eqn& e, const Marks& values) const {
  const std::vector<RegionFlow> flows = region_flows(e);
  const auto first = values.begin() + e.first_result;
  Kept kept{Marks(e.operand_count, 0), Marks(first, first + e.result_count)};
  std::vector<Marks> live(flows.size());
  for (bool settled = false; !settled;) {
    settled = true;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const RegionFlow& flow = flows[f];
      if (flow.gives_results || live[f].empty())
        live[f] = live_values(*flow.region, flow.gives_results ? kept.results : Marks(1, 1));
      for (std::size_t c = 0; c < flow.carries; ++c) {
        if (!live[f][flow.consts + c] || kept.results[c]) continue;
        kept.results[c] = 1;
        settled = false;
      }
    }
  }
  for (std::size_t f = 0; f < flows.size(); ++f)
    for (std::size_t i = 0; i < flows[f].region->input_count(); ++i)
      if (live[f][i]) kept.operands[flows[f].operand_of(i)] = 1;
  const RegionFlow& body = flows.back();
  const auto entries = kept.operands.begin() + static_cast<std::ptrdiff_t>(body.first_carry + body.carries);
  std::copy_n(kept.results.begin(), body.carries, entries - static_cast<std::ptrdiff_t>(body.carries));
  if (body.counted_by_lists &&
      (will_be_transposed_ || std::find(entries, kept.operands.end(), 1) == kept.operands.end()))
    *entries = 1;
  return kept;
}

Marks Cutting::live_values(const Graph& graph, const Marks& outputs) const {
  Marks live(graph.value_count(), 0);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) live[graph.outputs()[i]] = 1;
  const auto eqns = graph.eqns();
  for (std::size_t i = eqns.size(); i-- > 0;) {
    const Eqn& e = eqns[i];
    const auto results = live.begin() + e.first_result;
    if (std::find(results, results + e.result_count, 1) == results + e.result_count &&
        !has_effect(*e.op, e.params))
      continue;
    Kept kept{Marks(e.operand_count, 1), {}};
    if (runs_often(e)) {
      kept = kept_of(e, live);
      std::ranges::copy(kept.results, results);
    }
    const auto operands = graph.operands(e);
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (kept.operands[k]) live[operands[k]] = 1;
  }
  return live;
}

/// Adds a loop, or a map over lanes, with fewer operands and results.
void Cutting::add_cut_down(GraphBuilder& builder, GraphCopy& copy, const Graph& graph, const Eqn& e,
                           const Kept& kept) const {
  const auto all = graph.operands(e);
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (kept.operands[k]) operands.push_back(copy[all[k]]);
  std::vector<ValueId> results(static_cast<std::size_t>(std::ranges::count(kept.results, char{1})));
  const ScopeOf scope(e.scope);
  const auto part = [&](const Graph& region, const Marks& inputs, const Marks& outputs) {
    return prune(region, inputs, outputs);
  };
  builder.append(*e.op, params_with(e, kept, part), operands, results, e.loc);
  for (std::uint32_t r = 0, next = 0; r < e.result_count; ++r) {
    if (!kept.results[r]) continue;
    builder.set_lanes(results[next], graph.lanes(e.first_result + r));
    copy[e.first_result + r] = results[next++];
  }
}

GraphRef Cutting::prune(const Graph& graph, const Marks& inputs, const Marks& outputs) const {
  const Marks live = live_values(graph, outputs);
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (inputs[v]) copy.add_input(v);
  for (const Eqn& e : graph.eqns()) {
    const auto first = live.begin() + e.first_result;
    if (std::find(first, first + e.result_count, 1) == first + e.result_count && !has_effect(*e.op, e.params))
      continue;
    if (runs_often(e))
      add_cut_down(builder, copy, graph, e, kept_of(e, live));
    else
      copy.add(e, map_regions(e.params, [&](const Graph& region) { return whole(region); }));
  }
  std::vector<ValueId> ends;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) ends.push_back(copy[graph.outputs()[i]]);
  return builder.finish(ends);
}

GraphRef Cutting::whole(const Graph& graph) const {
  if (!has_loop(graph)) return GraphRef(&graph);
  return prune(graph, Marks(graph.input_count(), 1), Marks(graph.outputs().size(), 1));
}

}  // namespace

GraphRef remove_dead_carries(const Graph& graph) { return Cutting(false).whole(graph); }
GraphRef remove_dead_carries_of_linear(const Graph& graph) { return Cutting(true).whole(graph); }

std::vector<char> inputs_read(const Graph& graph, const std::vector<char>& outputs) {
  Marks live = Cutting(false).live_values(graph, outputs);
  live.resize(graph.input_count());
  return live;
}

}  // namespace apsis::detail
