#include "passes/error_sites.hpp"

#include "ir/copy.hpp"
#include "ir/regions.hpp"

namespace apsis::detail {
namespace {

bool has_bound(const Eqn& e) {
  return e.op->kind == OpKind::While && e.params.as<WhileParams>().max_steps >= 0;
}

/// The regions that are part of the program: of an op with rules of its own the first, as `strip_custom`
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
  std::vector<Params> params;
  for (const Eqn& e : graph.eqns()) {
    Params p = e.params;
    if (has_bound(e)) {
      auto loop = p.as<WhileParams>();
      loop.site = next++;
      p = make_params(std::move(loop));
    }
    params.push_back(map_regions(p, [&](const Graph& region) { return numbered(region, next); }));
  }
  return with_params(graph, params);
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

GraphRef number_error_sites(const Graph& graph) {
  std::int64_t next = 0;
  return numbered(graph, next);
}

Loc place_of_site(const Graph& graph, std::int64_t site) {
  const Eqn* e = site < 0 ? nullptr : find(graph, site);
  return e ? e->loc : Loc{};
}

}  // namespace apsis::detail
