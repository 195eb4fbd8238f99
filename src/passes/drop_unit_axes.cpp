#include "passes/drop_unit_axes.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/axis_groups.hpp"

namespace apsis::detail {
namespace {

/// Whether it is elementwise, on an array that is not in registers and has axes of size 1.
bool has_units(const Graph& graph, const Eqn& e) {
  constexpr std::int64_t few = 32;  // elements, which are in registers
  const auto operands = graph.operands(e);
  if (e.op->kind != OpKind::Elementwise || e.op->fused_read != FusedRead::None || e.result_count != 1 ||
      operands.empty() || !fusible(graph, e))
    return false;
  const Aval& aval = graph.aval(e.first_result);
  return aval.size() > few && std::ranges::find(aval.shape(), 1) != aval.shape().end() &&
         std::ranges::all_of(operands, [&](ValueId v) { return graph.aval(v).shape() == aval.shape(); });
}

}  // namespace

GraphRef drop_unit_axes(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return has_units(graph, e); })) {
    GraphBuilder builder;
    GraphCopy copy(builder, graph);
    copy.add_inputs();
    std::vector<ValueId> operands;
    for (const Eqn& e : graph.eqns()) {
      const ScopeOf scope(e.scope);
      if (e.op->kind == OpKind::View) {
        // Reshapes of reshapes are one.
        builder.add(*e.op, e.params, copy(graph.operands(e)), {&copy[e.first_result], 1}, e.loc);
        continue;
      }
      if (!has_units(graph, e)) {
        copy.add(e);
        continue;
      }
      const Shape& shape = graph.aval(e.first_result).shape();
      const auto reshaped = [&](ValueId v, const Shape& to) {
        ValueId result = 0;
        builder.add(reshape_op, make_params(ReshapeParams{to}), {&v, 1}, {&result, 1}, e.loc);
        return result;
      };
      operands.clear();
      for (ValueId v : graph.operands(e)) operands.push_back(reshaped(copy[v], without_units(shape)));
      const ValueId result = append1(builder, *e.op, e.params, operands, e.loc);
      copy[e.first_result] = reshaped(result, shape);
    }
    made = builder.finish(copy.outputs());
  }
  return with_regions(*made, drop_unit_axes);
}

}  // namespace apsis::detail
