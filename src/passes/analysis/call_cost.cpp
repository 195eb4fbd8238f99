#include "passes/analysis/call_cost.hpp"

#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {

std::int64_t code_length(const Graph& graph, const Eqn& e, std::int64_t register_limit) {
  constexpr std::int64_t of_loop = 12, of_other = 40;
  std::int64_t length = 0;
  each_region(e.params, [&](const Graph& region) { length += code_length(region, register_limit); });
  if (e.op->kind == OpKind::View || e.op->kind == OpKind::Constant || e.result_count == 0) return length;
  const Aval& aval = graph.aval(e.first_result);
  if (!fusible(graph, e)) return length + of_other;
  const bool one_by_one = in_registers(aval, register_limit);
  return length + emission_cost(graph, e) * (one_by_one ? aval.size() : 1) + (one_by_one ? 0 : of_loop);
}

std::int64_t code_length(const Graph& graph, std::int64_t register_limit) {
  std::int64_t length = 0;
  for (const Eqn& e : graph.eqns()) length += code_length(graph, e, register_limit);
  return length;
}

std::vector<char> values_between_calls(const Graph& graph) {
  std::vector<char> between(graph.value_count(), 0);
  for (const Eqn& e : graph.eqns())
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      between[e.first_result + r] = static_cast<char>(e.op->kind == OpKind::Call);
  for (const Eqn& e : graph.eqns()) {
    if (e.op->kind == OpKind::Call) continue;
    for (ValueId v : graph.operands(e)) between[v] = 0;
  }
  for (ValueId v : graph.outputs()) between[v] = 0;
  return between;
}

}  // namespace apsis::detail
