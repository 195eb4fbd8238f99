// Custom rules say how a program is differentiated and batched. What is left to compile is the program, and a
// cache of programs must not keep the user's callables alive, nor tell programs apart by them.

#include <unordered_map>

#include "ir/regions.hpp"

namespace apsis::detail {
namespace {

/// Regions are few and nest little: this recurses over their nesting, not over the depth of a graph.
class Plain {
 public:
  GraphRef operator()(const Graph& graph) {
    if (!graph.has_custom()) return GraphRef(&graph);
    auto [it, fresh] = made_.try_emplace(&graph);
    if (fresh) {
      GraphRef made = rebuild(graph);
      made_[&graph] = made;
      return made;
    }
    return it->second;
  }

 private:
  GraphRef rebuild(const Graph& graph) {
    GraphBuilder builder;
    std::vector<ValueId> renumber(graph.value_count()), operands, outputs;
    for (ValueId v = 0; v < graph.input_count(); ++v) renumber[v] = builder.input(graph.aval(v));
    for (const Eqn& e : graph.eqns()) {
      operands.clear();
      for (ValueId v : graph.operands(e)) operands.push_back(renumber[v]);
      const std::span<ValueId> results{renumber.data() + e.first_result, e.result_count};
      if (e.op->kind == OpKind::Custom) {
        GraphRef program = (*this)(*regions_of(e.params)[0]);
        builder.append(*call_, make_params(CallParams{program, e.op->name}), operands, results, e.loc);
      } else {
        builder.append(*e.op, with_plain_regions(e.params), operands, results, e.loc);
      }
    }
    for (ValueId v : graph.outputs()) outputs.push_back(renumber[v]);
    return builder.finish(outputs);
  }

  Params with_plain_regions(const Params& params) {
    bool any = false;
    for (const Graph* region : regions_of(params)) any |= region->has_custom();
    if (!any) return params;
    auto map = [](void* self, const void* graph) -> const void* {
      return (*static_cast<Plain*>(self))(*static_cast<const Graph*>(graph)).get();
    };
    return Params::adopt(params.node()->table->with_regions(*params.node(), map, this));
  }

  const Op* call_ = find_op("call");
  std::unordered_map<const Graph*, GraphRef> made_;  // keeps them alive until the parameters hold them
};

}  // namespace

GraphRef without_custom(const GraphRef& graph) { return graph->has_custom() ? Plain()(*graph) : graph; }

}  // namespace apsis::detail
