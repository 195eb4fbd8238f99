#include "ir/sites.hpp"

#include "apsis/base/named_scope.hpp"
#include "ir/regions.hpp"

namespace apsis::detail {
namespace {

bool has_bound(const Eqn& e) {
  return e.op->kind == OpKind::While && e.params.as<WhileParams>().max_steps >= 0;
}

/// The regions that are part of the program: of an op with rules of its own the first, as `without_custom`
/// has it.
template <class Visit>
void each_region_run(const Eqn& e, Visit&& visit) {
  bool first = true;
  each_region(e.params, [&](const Graph& region) {
    if (first || e.op->kind != OpKind::Custom) visit(region);
    first = false;
  });
}

bool has_sites(const Graph& graph) {
  for (const Eqn& e : graph.eqns()) {
    bool found = has_bound(e);
    each_region_run(e, [&](const Graph& region) { found = found || has_sites(region); });
    if (found) return true;
  }
  return false;
}

GraphRef numbered(const Graph& graph, std::int64_t& next) {
  if (!has_sites(graph)) return GraphRef(&graph);
  GraphBuilder builder;
  std::vector<ValueId> values(graph.value_count()), operands, outputs;
  for (ValueId v = 0; v < graph.input_count(); ++v) values[v] = builder.input(graph.aval(v));
  for (const Eqn& e : graph.eqns()) {
    ScopeOf scope(e.scope);
    operands.clear();
    for (ValueId v : graph.operands(e)) operands.push_back(values[v]);
    Params params = e.params;
    if (has_bound(e)) {
      auto loop = params.as<WhileParams>();
      loop.site = next++;
      params = make_params(std::move(loop));
    }
    params = map_regions(params, [&](const Graph& region) { return numbered(region, next); });
    builder.append(*e.op, params, operands, {values.data() + e.first_result, e.result_count}, e.loc);
    builder.copy_lanes(graph, e, values);
  }
  for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
  return builder.finish(outputs);
}

/// Counts `site` down to the loop that has the number.
const Eqn* find(const Graph& graph, std::int64_t& site) {
  for (const Eqn& e : graph.eqns()) {
    if (has_bound(e) && site-- == 0) return &e;
    const Eqn* found = nullptr;
    each_region_run(e, [&](const Graph& region) {
      if (!found) found = find(region, site);
    });
    if (found) return found;
  }
  return nullptr;
}

}  // namespace

GraphRef with_sites(const GraphRef& graph) {
  std::int64_t next = 0;
  return numbered(*graph, next);
}

Loc place_of_site(const Graph& graph, std::int64_t site) {
  const Eqn* e = site < 0 ? nullptr : find(graph, site);
  return e ? e->loc : Loc{};
}

}  // namespace apsis::detail
