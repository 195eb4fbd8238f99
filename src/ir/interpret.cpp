#include "ir/interpret_with.hpp"

namespace apsis::detail {

std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs) {
  // Values are dropped after their last use, so that memory follows liveness.
  constexpr std::uint32_t keep = 0xffffffffu;
  std::vector<std::uint32_t> last_use(graph.value_count(), 0);
  const auto eqns = graph.eqns();
  for (std::uint32_t i = 0; i < eqns.size(); ++i)
    for (ValueId v : graph.operands(eqns[i])) last_use[v] = i;
  for (ValueId v : graph.outputs()) last_use[v] = keep;
  return interpret_with(graph, inputs, [&](const Eqn& e, std::vector<Array>& values, auto& in, auto out) {
    bind(*e.op, e.params, in, out, e.loc);
    const auto i = static_cast<std::uint32_t>(&e - eqns.data());
    for (ValueId v : graph.operands(e))
      if (last_use[v] == i) values[v] = Array{};
  });
}

}  // namespace apsis::detail
