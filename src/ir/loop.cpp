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

Loop::Loop(const Eqn& e)
    : body(e.op->kind == OpKind::While ? *e.params.as<WhileParams>().body : *e.params.as<ScanParams>().body) {
  if (e.op->kind == OpKind::While) {
    const auto& p = e.params.as<WhileParams>();
    cond = p.cond.get();
    cond_consts = static_cast<std::size_t>(p.cond_consts);
    consts = static_cast<std::size_t>(p.body_consts);
    carries = static_cast<std::size_t>(p.carries);
  } else {
    const auto& p = e.params.as<ScanParams>();
    consts = static_cast<std::size_t>(p.consts);
    carries = static_cast<std::size_t>(p.carries);
    lists = p.length < 0;
  }
  xs = body.input_count() - consts - carries;
}

}  // namespace apsis::detail
