#pragma once

#include <type_traits>
#include <vector>

#include "ir/copy.hpp"
#include "ir/loop.hpp"

namespace apsis::detail {

/// The graph with scans written otherwise: `choose(loop)` says how, or nothing (`empty`), and
/// `add(builder, copy, graph, e, choice)` adds the scan so. The graph itself if nothing is chosen.
template <class Choose, class Add>
GraphRef with_scans(const Graph& graph, Choose&& choose, Add&& add) {
  std::vector<std::invoke_result_t<Choose&, Loop>> choices(graph.eqns().size());
  bool changes = false;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (graph.eqns()[i].op->kind == OpKind::Scan) {
      choices[i] = choose(Loop(graph.eqns()[i]));
      changes = changes || !choices[i].empty();
    }
  if (!changes) return GraphRef(&graph);
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i].empty())
      copy.add(graph.eqns()[i]);
    else
      add(builder, copy, graph, graph.eqns()[i], choices[i]);
  return builder.finish(copy.outputs());
}

}  // namespace apsis::detail
