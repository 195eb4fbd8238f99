#pragma once

#include "apsis/base/named_scope.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

/// Runs a graph, whose equations are bound by `bind_eqn(e, values, in, out)`: the values so far, by number,
/// the operands, room for the results.
template <class Bind>
std::vector<Array> interpret_with(const Graph& graph, std::span<const Array> inputs, Bind&& bind_eqn) {
  std::vector<Array> values(inputs.begin(), inputs.end()), in, outputs;
  values.resize(graph.value_count());
  for (const Eqn& e : graph.eqns()) {
    const std::span<Array> out{values.data() + e.first_result, e.result_count};
    if (e.op == &constant_op) {
      out[0] = constant_value(e.params);
      continue;
    }
    in.clear();
    for (ValueId v : graph.operands(e)) in.push_back(values[v]);
    const ScopeOf scope(e.scope);
    bind_eqn(e, values, in, out);
  }
  for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
  return outputs;
}

}  // namespace apsis::detail
