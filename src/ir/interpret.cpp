#include "apsis/base/named_scope.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs) {
  APSIS_ASSERT(inputs.size() == graph.input_count());
  std::vector<Array> values(graph.value_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = inputs[i];

  // Values are dropped after their last use, so that memory follows liveness.
  constexpr std::uint32_t keep = 0xffffffffu;
  std::vector<std::uint32_t> last_use(graph.value_count(), 0);
  auto eqns = graph.eqns();
  for (std::uint32_t i = 0; i < eqns.size(); ++i)
    for (ValueId v : graph.operands(eqns[i])) last_use[v] = i;
  for (ValueId v : graph.outputs()) last_use[v] = keep;

  std::vector<Array> in;
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    const Eqn& e = eqns[i];
    std::span<Array> out{values.data() + e.first_result, e.result_count};
    if (e.op == &constant_op) {
      out[0] = constant_value(e.params);
      continue;
    }
    in.clear();
    for (ValueId v : graph.operands(e)) in.push_back(values[v]);
    ScopeOf scope(e.scope);
    bind(*e.op, e.params, in, out, e.loc);
    for (ValueId v : graph.operands(e))
      if (last_use[v] == i) values[v] = Array{};
  }
  std::vector<Array> outputs;
  for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
  return outputs;
}

}  // namespace apsis::detail
