#include "passes/turn_products.hpp"

#include <algorithm>
#include <utility>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/dot_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

/// The product that a transpose is of, if it has the free axes of the operands change places and nothing
/// else.
const Eqn* turned(const Graph& graph, const Eqn& e, const std::vector<std::uint32_t>& uses) {
  if (e.op->view_kind != ViewKind::Permuted) return nullptr;
  const ValueId product = graph.operands(e)[0];
  const Eqn* made = graph.definition(product);
  if (!made || made->op->kind != OpKind::Contract || uses[product] != 1 ||
      is_complex(graph.aval(product).dtype()))
    return nullptr;
  const auto& p = made->params.as<DotParams>();
  const auto operands = graph.operands(*made);
  const DotSizes sizes(p, graph.aval(operands[0]).shape(), graph.aval(operands[1]).shape());
  const auto batch = static_cast<std::int64_t>(p.batch_a.size()),
             free_a = static_cast<std::int64_t>(sizes.free_a.size()),
             free_b = static_cast<std::int64_t>(sizes.free_b.size());
  const Dims& permutation = e.params.as<TransposeParams>().permutation;
  for (std::int64_t d = 0; d < permutation.rank(); ++d) {
    const std::int64_t from = d < batch ? d : d < batch + free_b ? d + free_a : d - free_b;
    if (permutation[static_cast<std::size_t>(d)] != from) return nullptr;
  }
  return made;
}

}  // namespace

GraphRef turn_products(const Graph& graph) {
  const std::vector<std::uint32_t> uses = count_uses(graph);
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return turned(graph, e, uses) != nullptr; })) {
    GraphBuilder builder;
    GraphCopy copy(builder, graph);
    copy.add_inputs();
    for (const Eqn& e : graph.eqns()) {
      const Eqn* const product = turned(graph, e, uses);
      if (!product) {
        copy.add(e);
        continue;
      }
      const ScopeOf scope(product->scope);
      DotParams p = product->params.as<DotParams>();
      std::swap(p.contract_a, p.contract_b);
      std::swap(p.batch_a, p.batch_b);
      const auto operands = graph.operands(*product);
      const ValueId swapped[] = {copy[operands[1]], copy[operands[0]]};
      builder.append(dot_general_op, make_params(p), swapped, {&copy[e.first_result], 1}, product->loc);
    }
    made = builder.finish(copy.outputs());
  }
  return with_regions(*made, turn_products);
}

}  // namespace apsis::detail
