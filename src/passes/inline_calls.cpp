#include "passes/inline_calls.hpp"

#include <algorithm>

#include "ir/copy.hpp"
#include "ir/loop.hpp"
#include "ir/regions.hpp"

namespace apsis::detail {
namespace {

/// Whether a call is replaced.
using Chosen = bool (*)(const Eqn&);

bool is_call(const Eqn& e) { return e.op->kind == OpKind::Call; }
bool is_call_with_loop(const Eqn& e) { return is_call(e) && has_loop(*e.params.as<CallParams>().region); }

/// Adds the equations of a graph whose inputs have numbers in the builder; the numbers of its outputs.
std::vector<ValueId> add_inlined(GraphBuilder& builder, const Graph& graph, std::span<const ValueId> inputs,
                                 Chosen chosen) {
  GraphCopy copy(builder, graph);
  copy.set_inputs(inputs);
  for (const Eqn& e : graph.eqns()) {
    if (!chosen(e)) {
      copy.add(e);
      continue;
    }
    const std::vector<ValueId> results =
        add_inlined(builder, *e.params.as<CallParams>().region, copy(graph.operands(e)), chosen);
    for (std::uint32_t r = 0; r < e.result_count; ++r) copy[e.first_result + r] = results[r];
  }
  return copy.outputs();
}

GraphRef inlined(const Graph& graph, Chosen chosen) {
  if (std::ranges::none_of(graph.eqns(), chosen)) return GraphRef(&graph);
  GraphBuilder builder;
  std::vector<ValueId> inputs;
  for (ValueId v = 0; v < graph.input_count(); ++v) inputs.push_back(builder.input(graph.aval(v)));
  return builder.finish(add_inlined(builder, graph, inputs, chosen));
}

}  // namespace

GraphRef inline_calls(const Graph& graph) { return inlined(graph, is_call); }

GraphRef inline_calls_with_loops(const Graph& graph) {
  if (!has_loop(graph)) return GraphRef(&graph);
  return with_regions(*inlined(graph, is_call_with_loop), inline_calls_with_loops);
}

}  // namespace apsis::detail
