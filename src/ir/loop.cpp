#include "ir/loop.hpp"

#include <algorithm>

namespace apsis::detail {

bool has_loop(const Graph& graph) {
  return std::ranges::any_of(graph.eqns(), [](const Eqn& e) {
    bool found = is_loop(e);
    each_region(e.params, [&](const Graph& region) { found = found || has_loop(region); });
    return found;
  });
}

Loop::Loop(const WhileParams& p)
    : cond(p.cond.get()),
      body(p.body.get()),
      cond_consts(static_cast<std::size_t>(p.cond_consts)),
      consts(static_cast<std::size_t>(p.body_consts)),
      carries(static_cast<std::size_t>(p.carries)),
      max_steps(p.max_steps),
      site(p.site) {}

Loop::Loop(const ScanParams& p)
    : body(p.body.get()),
      consts(static_cast<std::size_t>(p.consts)),
      carries(static_cast<std::size_t>(p.carries)),
      length(p.length),
      reverse(p.reverse) {}

Loop::Loop(const Eqn& e)
    : Loop(e.op->kind == OpKind::While ? Loop(e.params.as<WhileParams>()) : Loop(e.params.as<ScanParams>())) {
}

Params with_loop_regions(const Eqn& loop, const LoopRegions& regions) {
  const auto consts = static_cast<std::int64_t>(regions.consts),
             carries = static_cast<std::int64_t>(regions.carries);
  if (loop.op->kind == OpKind::Scan) {
    ScanParams p = loop.params.as<ScanParams>();
    p.body = regions.body;
    p.consts = consts;
    p.carries = carries;
    return make_params(std::move(p));
  }
  WhileParams p = loop.params.as<WhileParams>();
  p.cond = regions.cond;
  p.body = regions.body;
  p.cond_consts = static_cast<std::int64_t>(regions.cond_consts);
  p.body_consts = consts;
  p.carries = carries;
  return make_params(std::move(p));
}

}  // namespace apsis::detail
