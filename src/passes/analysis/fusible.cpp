#include "passes/analysis/fusible.hpp"

#include <algorithm>

#include "ops/index_params.hpp"

namespace apsis::detail {

bool in_registers(const Aval& aval, std::int64_t limit) {
  return !aval.is_list() && !is_complex(aval.dtype()) && aval.size() <= limit;
}

bool fusible(const Graph& graph, const Eqn& eqn) {
  if (eqn.op->fused_read == FusedRead::AtIndices) return !puts(eqn);
  if (eqn.op->kind != OpKind::Elementwise || !eqn.op->emit) return false;
  auto real = [&](ValueId v) { return !is_complex(graph.aval(v).dtype()); };
  for (std::uint32_t r = 0; r < eqn.result_count; ++r)
    if (!real(eqn.first_result + r)) return false;
  return std::ranges::all_of(graph.operands(eqn), real);
}

std::span<const ValueId> operands_by_element(const Graph& graph, const Eqn& eqn) {
  const auto operands = graph.operands(eqn);
  switch (eqn.op->fused_read) {
    case FusedRead::AtIndices:
      return operands.subspan(1);
    case FusedRead::Padded:
      return {};
    case FusedRead::None:
      break;
  }
  return operands;
}

bool pads_around(const Graph& graph, const Eqn& eqn) {
  constexpr std::int64_t short_row = 4;
  if (eqn.op->fused_read != FusedRead::Padded) return false;
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
  if (!eqn.op->neutral) return false;
  const Aval& aval = graph.aval(graph.operands(eqn)[0]);
  return !is_complex(aval.dtype()) && aval.size() > 0;
}

bool accumulates(const Graph& graph, const Eqn& eqn) {
  if (!eqn.op->any_order) return false;
  return graph.aval(graph.operands(eqn)[0]).size() > 1 && graph.aval(eqn.first_result).size() == 1;
}

}  // namespace apsis::detail
