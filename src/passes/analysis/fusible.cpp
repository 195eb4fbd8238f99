#include "passes/analysis/fusible.hpp"

#include <algorithm>

#include "ops/index_params.hpp"
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

std::span<const ValueId> operands_by_element(const Graph& graph, const Eqn& eqn) {
  const auto operands = graph.operands(eqn);
  return operands.subspan(eqn.op == &pick_op ? 1 : eqn.op == &pad_op ? operands.size() : 0);
}

bool pads_around(const Graph& graph, const Eqn& eqn) {
  constexpr std::int64_t short_row = 16;
  if (eqn.op != &pad_op) return false;
  const Aval &from = graph.aval(graph.operands(eqn)[0]), &to = graph.aval(eqn.first_result);
  // Of smaller elements single ones cannot be left out of a load.
  if (is_complex(to.dtype()) || item_size(to.dtype()) < 4 || to.rank() == 0) return false;
  if (to.rank() > 1 && to.shape().back() <= short_row) return false;
  const auto& p = eqn.params.as<PadParams>();
  for (std::size_t d = 0; d < to.shape().size(); ++d) {
    const std::int64_t n = from.shape()[d];
    if (p.interior[d] != 0 || std::max<std::int64_t>(p.low[d], 0) >= std::min(p.low[d] + n, to.shape()[d]))
      return false;
  }
  return true;
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
