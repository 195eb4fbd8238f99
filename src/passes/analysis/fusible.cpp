#include "passes/analysis/fusible.hpp"

#include <algorithm>

#include "ops/table.hpp"

namespace apsis::detail {

bool in_registers(const Aval& aval, std::int64_t limit) {
  return !aval.is_list() && !is_complex(aval.dtype()) && aval.size() <= limit;
}

bool fusible(const Graph& graph, const Eqn& eqn) {
  if (eqn.op == &pick_op) return true;
  if (eqn.op->kind != OpKind::Elementwise || !eqn.op->emit) return false;
  auto real = [&](ValueId v) { return !is_complex(graph.aval(v).dtype()); };
  for (std::uint32_t r = 0; r < eqn.result_count; ++r)
    if (!real(eqn.first_result + r)) return false;
  return std::ranges::all_of(graph.operands(eqn), real);
}

bool reduces(const Graph& graph, const Eqn& eqn) {
  constexpr const Op* plain[] = {&reduce_sum_op, &reduce_prod_op, &reduce_max_op,
                                 &reduce_min_op, &reduce_and_op,  &reduce_or_op};
  if (std::ranges::find(plain, eqn.op) == std::end(plain)) return false;
  const Aval& aval = graph.aval(graph.operands(eqn)[0]);
  return !is_complex(aval.dtype()) && aval.size() > 0;
}

bool accumulates(const Graph& graph, const Eqn& eqn) {
  constexpr const Op* any_order[] = {&reduce_and_op, &reduce_or_op, &reduce_max_op, &reduce_min_op};
  if (std::ranges::find(any_order, eqn.op) == std::end(any_order)) return false;
  return graph.aval(graph.operands(eqn)[0]).size() > 1 && graph.aval(eqn.first_result).size() == 1;
}

}  // namespace apsis::detail
