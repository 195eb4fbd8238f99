#include "passes/join_updates.hpp"

#include <algorithm>
#include <optional>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

/// The part of the array that is replaced, if the equation is to become a concatenation.
std::optional<SliceParams> replaced(const Graph& graph, const Eqn& e) {
  constexpr std::int64_t few = 32;  // elements, which are in registers
  if (e.op != &dynamic_update_slice_op) return std::nullopt;
  const auto operands = graph.operands(e);
  const Shape &shape = graph.aval(operands[0]).shape(), &sizes = graph.aval(operands[1]).shape();
  if (shape.product() <= few || 2 * sizes.product() < shape.product()) return std::nullopt;
  SliceParams part;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Eqn* start = graph.definition(operands[2 + d]);
    std::int64_t at = 0;
    if (sizes[d] < shape[d]) {
      if (!start || start->op->kind != OpKind::Constant) return std::nullopt;
      at = constant_value(start->params).item<std::int64_t>();
    }
    part.start.push_back(std::clamp<std::int64_t>(at, 0, shape[d] - sizes[d]));
    part.limit.push_back(part.start[d] + sizes[d]);
    part.stride.push_back(1);
  }
  return part;
}

/// Around the new part what the array has before and behind it, axis by axis from the last.
ValueId join(GraphBuilder& builder, ValueId array, ValueId update, const SliceParams& part, Loc loc) {
  const Shape shape = builder.aval(array).shape();
  ValueId inside = update;
  for (std::size_t d = shape.size(); d-- > 0;) {
    SliceParams around = part;  // of the whole along later axes
    for (std::size_t later = d + 1; later < shape.size(); ++later) {
      around.start[later] = 0;
      around.limit[later] = shape[later];
    }
    std::vector<ValueId> parts;
    const auto add = [&](std::int64_t first, std::int64_t end) {
      around.start[d] = first;
      around.limit[d] = end;
      if (first < end) parts.push_back(append1(builder, slice_op, make_params(around), {&array, 1}, loc));
    };
    add(0, part.start[d]);
    parts.push_back(inside);
    add(part.limit[d], shape[d]);
    const ConcatenateParams along{static_cast<std::int64_t>(d)};
    if (parts.size() > 1) inside = append1(builder, concatenate_op, make_params(along), parts, loc);
  }
  return inside;
}

}  // namespace

GraphRef join_updates(const Graph& graph) {
  if (std::ranges::none_of(graph.eqns(), [&](const Eqn& e) { return replaced(graph, e).has_value(); }))
    return GraphRef(&graph);
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (const Eqn& e : graph.eqns()) {
    const std::optional<SliceParams> part = replaced(graph, e);
    if (!part) {
      copy.add(e);
      continue;
    }
    const ScopeOf scope(e.scope);
    const auto operands = graph.operands(e);
    copy[e.first_result] = join(builder, copy[operands[0]], copy[operands[1]], *part, e.loc);
  }
  return builder.finish(copy.outputs());
}

}  // namespace apsis::detail
