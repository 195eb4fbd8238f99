#include "codegen/inline_calls.hpp"

#include <algorithm>

#include "ir/loop.hpp"
#include "ir/regions.hpp"

namespace apsis::detail {
namespace {

bool is_inlined(const Eqn& e, bool only_with_loops) {
  return e.op->kind == OpKind::Call && (!only_with_loops || has_loop(*e.params.as<CallParams>().region));
}

/// Adds the equations of `graph` to a builder. `values` starts with the inputs' numbers in the builder.
void append_inlined(GraphBuilder& builder, const Graph& graph, std::vector<ValueId>& values,
                    bool only_with_loops) {
  values.resize(graph.value_count());
  std::vector<ValueId> operands, results;
  for (const Eqn& e : graph.eqns()) {
    operands.clear();
    for (ValueId v : graph.operands(e)) operands.push_back(values[v]);
    results.assign(e.result_count, 0);
    if (is_inlined(e, only_with_loops)) {
      const Graph& callee = *e.params.as<CallParams>().region;
      std::vector<ValueId> inner = operands;
      append_inlined(builder, callee, inner, only_with_loops);
      for (std::uint32_t r = 0; r < e.result_count; ++r) results[r] = inner[callee.outputs()[r]];
    } else {
      builder.append(*e.op, e.params, operands, results, e.loc);
    }
    std::copy(results.begin(), results.end(), values.begin() + e.first_result);
  }
}

}  // namespace

GraphRef with_calls_inlined(const Graph& graph, bool only_with_loops) {
  if (std::ranges::none_of(graph.eqns(), [&](const Eqn& e) { return is_inlined(e, only_with_loops); }))
    return GraphRef(&graph);
  GraphBuilder builder;
  std::vector<ValueId> values, outputs;
  for (ValueId v = 0; v < graph.input_count(); ++v) values.push_back(builder.input(graph.aval(v)));
  append_inlined(builder, graph, values, only_with_loops);
  for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
  return builder.finish(outputs);
}

}  // namespace apsis::detail
