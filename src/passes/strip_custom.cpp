// Custom rules say how a program is differentiated and batched. What is left to compile is the program, and a
// cache of programs must not keep the user's callables alive, nor tell programs apart by them.

#include "passes/strip_custom.hpp"

#include <unordered_map>

#include "ir/copy.hpp"
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
    GraphCopy copy(builder, graph);
    copy.add_inputs();
    for (const Eqn& e : graph.eqns()) {
      if (e.op->kind != OpKind::Custom) {
        copy.add(e, map_regions(e.params, *this));
        continue;
      }
      const GraphRef program = (*this)(*regions_of(e.params)[0]);
      std::vector<ValueId> results(e.result_count);
      builder.append(*call_, make_params(CallParams{program, e.op->name}), copy(graph.operands(e)), results,
                     e.loc);
      for (std::uint32_t r = 0; r < e.result_count; ++r) copy[e.first_result + r] = results[r];
    }
    return builder.finish(copy.outputs());
  }

  const Op* call_ = find_op("call");
  std::unordered_map<const Graph*, GraphRef> made_;  // keeps them alive until the parameters hold them
};

}  // namespace

GraphRef strip_custom(const Graph& graph) { return graph.has_custom() ? Plain()(graph) : GraphRef(&graph); }

}  // namespace apsis::detail
