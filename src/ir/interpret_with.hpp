#pragma once

#include "apsis/base/named_scope.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

/// Goes through the equations of a graph in order; `values` has room for all of its values, by number, and
/// holds the inputs. `run(e, in, out)` is given the operands and where the results belong. What is known of
/// the lanes of results is known of the new ones.
template <class Run>
void run_equations(const Graph& graph, std::vector<Array>& values, Run&& run) {
  std::vector<Array> in;
  for (const Eqn& e : graph.eqns()) {
    const std::span<Array> out{values.data() + e.first_result, e.result_count};
    if (e.op->kind == OpKind::Constant) {
      out[0] = constant_value(e.params);
      continue;
    }
    in.clear();
    for (ValueId v : graph.operands(e)) in.push_back(values[v]);
    const ScopeOf scope(e.scope);
    run(e, in, out);
    note_lanes(graph, e, out);
  }
}

/// Runs a graph, whose equations are bound by `bind_eqn(e, values, in, out)`: the values so far, by number,
/// the operands, room for the results.
template <class Bind>
std::vector<Array> interpret_with(const Graph& graph, std::span<const Array> inputs, Bind&& bind_eqn) {
  APSIS_ASSERT(inputs.size() == graph.input_count());
  std::vector<Array> values(inputs.begin(), inputs.end()), outputs;
  values.resize(graph.value_count());
  for (ValueId v = 0; v < graph.input_count(); ++v) note_lanes(values[v], graph.lanes(v));
  run_equations(graph, values, [&](const Eqn& e, std::vector<Array>& in, std::span<Array> out) {
    bind_eqn(e, values, in, out);
  });
  for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
  return outputs;
}

}  // namespace apsis::detail
