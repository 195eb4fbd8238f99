#include "passes/lift_numbers.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/repeated_number.hpp"

namespace apsis::detail {
namespace {

bool may_be_lifted(const Graph& graph, const Eqn& e) {
  constexpr std::int64_t few = 256;  // elements that take no time
  return e.op->kind == OpKind::Elementwise && e.result_count == 1 && e.operand_count > 0 &&
         !has_effect(*e.op, e.params) && graph.aval(e.first_result).size() > few;
}

}  // namespace

GraphRef lift_numbers(const Graph& graph) {
  GraphRef made(&graph);
  const auto lifts = [&](const Eqn& e) {
    return may_be_lifted(graph, e) && std::ranges::all_of(graph.operands(e), [&](ValueId v) {
             return repeated_number(graph, v) != nullptr;
           });
  };
  if (std::ranges::any_of(graph.eqns(), lifts)) {
    GraphBuilder builder;
    GraphCopy copy(builder, graph);
    copy.add_inputs();
    for (const Eqn& e : graph.eqns()) {
      const std::vector<ValueId> operands = copy(graph.operands(e));
      std::vector<ValueId> numbers;
      if (may_be_lifted(graph, e))
        for (ValueId v : operands)
          if (const Eqn* number = repeated_number(builder, v))
            numbers.push_back(builder.operands(*number)[0]);
      if (numbers.empty() || numbers.size() != operands.size()) {
        copy.add(e);
        continue;
      }
      const ScopeOf scope(e.scope);
      const ValueId result = append1(builder, *e.op, e.params, numbers, e.loc);
      const BroadcastParams everywhere{graph.aval(e.first_result).shape(), {}};
      copy[e.first_result] =
          append1(builder, broadcast_in_dim_op, make_params(everywhere), {&result, 1}, e.loc);
    }
    made = builder.finish(copy.outputs());
  }
  return with_regions(*made, lift_numbers);
}

}  // namespace apsis::detail
