#include "codegen/emit/equations.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "ir/effects.hpp"
#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

/// Calls a function that writes an equation; false if that says that it cannot.
template <auto writer>
bool write(Region& region, const Eqn& e) {
  if constexpr (std::is_void_v<decltype(writer(region, e))>)
    return writer(region, e), true;
  else
    return writer(region, e);
}

/// Ops with code of their own.
constexpr std::pair<const Op*, bool (*)(Region&, const Eqn&)> writers[] = {
    {&cholesky_op, write<emit_matrices>},
    {&complex_cholesky_op, write<emit_matrices>},
    {&complex_op, write<emit_complex>},
    {&concatenate_op, write<emit_concatenate>},
    {&dot_general_op, write<emit_contract>},
    {&dynamic_slice_op, write<emit_dynamic_slice>},
    {&dynamic_update_slice_op, write<emit_dynamic_update_slice>},
    {&gather_op, write<emit_gather>},
    {&iota_op, write<emit_iota>},
    {&lu_op, write<emit_matrices>},
    {&complex_lu_op, write<emit_matrices>},
    {&lu_solve_op, write<emit_matrices>},
    {&complex_lu_solve_op, write<emit_matrices>},
    {&pad_op, write<emit_pad>},
    {&progress_op, write<emit_progress>},
    {&qr_op, write<emit_matrices>},
    {&complex_qr_op, write<emit_matrices>},
    {&raise_when_op, write<emit_raise_when>},
    {&scatter_op, write<emit_scatter>},
    {&solve_op, write<emit_matrices>},
    {&complex_solve_op, write<emit_matrices>},
    {&triangular_solve_op, write<emit_matrices>},
    {&complex_triangular_solve_op, write<emit_matrices>}};

}  // namespace

bool computes_matrices(const Op& op) {
  return std::ranges::any_of(
      writers, [&](const auto& w) { return w.first == &op && w.second == write<emit_matrices>; });
}

void emit(Region& region, const Eqn& e) {
  switch (e.op->kind) {
    case OpKind::Constant:
      return emit_constant(region, e);
    case OpKind::View:
      return emit_view(region, e);
    case OpKind::Call:
      return emit_call(region, e);
    case OpKind::Cond:
      return emit_cond(region, e);
    case OpKind::While:
      return emit_while(region, e);
    case OpKind::Scan:
      return emit_scan(region, e);
    case OpKind::MapLanes:
      return region.lanes() == 1 ? emit_packets(region, e) : emit_map_lanes(region, e);
    default:
      break;
  }
  if (e.op->fused_read == FusedRead::AtIndices) {
    const auto number = static_cast<std::uint32_t>(&e - region.graph().eqns().data());
    return emit_cluster(region, {&number, 1});
  }
  if (fusible(region.graph(), e)) return emit_elementwise(region, e);
  if (emit_nothing(region, e) || emit_unrolled(region, e)) return;
  for (const auto& [op, writer] : writers)
    if (op == e.op && writer(region, e)) return;
  if (e.op->kind == OpKind::Reduce && emit_reduce(region, e)) return;
  emit_kernel(region, e);
}

}  // namespace apsis::detail
