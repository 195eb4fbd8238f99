#include "transform/guard.hpp"

#include <algorithm>

#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "ops/lax.hpp"
#include "ops/reduce_params.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {

extern const Op reduce_sum_op;

namespace {

std::int64_t place_in(const Dims& dims, std::int64_t axis) {
  const auto at = std::ranges::find(dims, axis);
  return at == dims.end() ? -1 : at - dims.begin();
}

Array of_shape(const Array& condition, const Shape& shape, const Dims& axes) {
  const bool as_it_is = condition.shape() == shape && leads(axes);
  return as_it_is ? condition : lax::broadcast_in_dim(condition, shape, axes);
}

bool same_value(const Array& a, const Array& b) {
  if (a.node() == b.node()) return true;
  if (a.is_empty() || b.is_empty()) return false;
  if (a.node()->kind != NodeKind::Stage || b.node()->kind != NodeKind::Stage) return false;
  const auto &x = *static_cast<const StageNode*>(a.node()), &y = *static_cast<const StageNode*>(b.node());
  return x.tag == y.tag && x.id == y.id;
}

/// The axis of a reshape's operand that is axis `axis` of its result, or -1.
std::int64_t before_reshape(const Shape& operand, const Shape& result, std::size_t axis) {
  std::int64_t after = 1, before = 1;
  for (std::size_t i = axis + 1; i < result.size(); ++i) after *= result[i];
  for (std::size_t i = operand.size(); i-- > 0; before *= operand[i])
    if (before == after && operand[i] == result[axis] && operand[i] != 1) return static_cast<std::int64_t>(i);
  return -1;
}

std::int64_t before_product(const DotParams& p, const Shape& a, const Shape& b, std::size_t k,
                            std::int64_t axis) {
  const DotSizes sizes(p, a, b);
  const auto batch = static_cast<std::int64_t>(p.batch_a.size()),
             free_a = static_cast<std::int64_t>(sizes.free_a.size());
  const auto at = [](const Dims& dims, std::int64_t i) { return dims[static_cast<std::size_t>(i)]; };
  if (axis < batch) return at(k == 0 ? p.batch_a : p.batch_b, axis);
  if (axis < batch + free_a) return k == 0 ? at(sizes.free_a, axis - batch) : -1;
  return k == 1 ? at(sizes.free_b, axis - batch - free_a) : -1;
}

/// The axis of operand `k` that is axis `axis` of the result, entry by entry, or -1.
std::int64_t operand_axis(const Graph& graph, const Eqn& e, std::size_t k, std::int64_t axis) {
  const auto operands = graph.operands(e);
  const Shape &from = graph.aval(operands[k]).shape(), &to = graph.aval(e.first_result).shape();
  const auto at = static_cast<std::size_t>(axis);
  const auto stays = [&](bool untouched) { return untouched && from[at] == to[at] ? axis : -1; };
  if (e.op->kind == OpKind::Elementwise) return axis;
  if (e.op == &transpose_op) return e.params.as<TransposeParams>().permutation[at];
  if (e.op == &reshape_op) return before_reshape(from, to, at);
  if (e.op == &reverse_op) return stays(!e.params.as<ReverseParams>().axes.contains(axis));
  if (e.op == &dynamic_slice_op) return stays(k == 0);
  if (e.op == &slice_op) return stays(e.params.as<SliceParams>().stride[at] == 1);
  if (e.op == &concatenate_op) return stays(e.params.as<ConcatenateParams>().axis != axis);
  if (e.op == &broadcast_in_dim_op) {
    const std::int64_t of = place_in(e.params.as<BroadcastParams>().axes, axis);
    return of >= 0 && from[static_cast<std::size_t>(of)] == to[at] ? of : -1;
  }
  if (e.op == &reduce_sum_op) {
    const Dims& gone = e.params.as<ReduceParams>().axes;
    std::int64_t of = 0;
    for (std::int64_t kept = axis;; ++of)
      if (!gone.contains(of) && kept-- == 0) return of;
  }
  if (e.op == &dot_general_op)
    return before_product(e.params.as<DotParams>(), graph.aval(operands[0]).shape(),
                          graph.aval(operands[1]).shape(), k, axis);
  return -1;
}

}  // namespace

bool Guard::has_condition_of(const Guard& o) const {
  return same_value(condition, o.condition) && axes == o.axes;
}

Guard guard_of(const Array& condition) {
  if (condition.is_empty()) return {};
  return {condition, Dims::counting(static_cast<std::size_t>(condition.ndim()))};
}

Array holds(const Guard& guard) { return guard.when ? guard.condition : lax::logical_not(guard.condition); }

Array holds_in(const Guard& guard, const Shape& shape) { return of_shape(holds(guard), shape, guard.axes); }

Array leading(const Guard& guard, const Shape& shape) {
  return leads(guard.axes) ? holds(guard) : holds_in(guard, shape);
}

Array guarded(const Array& value, const Guard& guard) {
  return guard.is_empty() || guard.zeroed ? value : guarded(value, guard, lax::full_like(value.aval(), 0));
}

Array guarded(const Array& value, const Guard& guard, const Array& otherwise) {
  const Array condition = of_shape(guard.condition, value.shape(), guard.axes);
  return guard.when ? lax::select(condition, value, otherwise) : lax::select(condition, otherwise, value);
}

namespace {

/// A guard for the axes of both, with their conditions combined.
Guard combined(const Guard& a, const Guard& b, Array (*combine)(const Array&, const Array&)) {
  Guard all;
  Shape shape;
  for (const Guard* g : {&a, &b})
    for (std::size_t i = 0; i < g->axes.size(); ++i) {
      if (all.axes.contains(g->axes[i])) continue;
      all.axes.push_back(g->axes[i]);
      shape.push_back(g->condition.shape()[i]);
    }
  const auto part = [&](const Guard& g) {
    Dims places;
    for (std::int64_t axis : g.axes) places.push_back(place_in(all.axes, axis));
    return of_shape(holds(g), shape, places);
  };
  all.condition = combine(part(a), part(b));
  return all;
}

}  // namespace

std::optional<Guard> both(const Guard& a, const Guard& b) {
  if (a.is_empty() || a == b) return b;
  if (b.is_empty()) return a;
  if (a.has_condition_of(b)) return std::nullopt;
  return combined(a, b, lax::logical_and);
}

Guard either(const Guard& a, const Guard& b) {
  if (a.is_empty() || b.is_empty()) return {};
  if (a == b) return a;
  if (a.has_condition_of(b)) return {};
  return combined(a, b, lax::logical_or);
}

std::optional<bool> known_condition(const Array& condition) {
  if (!is_concrete(condition) || condition.size() == 0) return std::nullopt;
  const auto values = condition.span<bool>();
  const bool first = values[0];
  if (!std::ranges::all_of(values, [&](bool v) { return v == first; })) return std::nullopt;
  return first;
}

Repeated without_repetition(const Graph& graph, ValueId value) {
  const Eqn* made = graph.definition(value);
  if (made && made->op == &broadcast_in_dim_op) {
    const ValueId source = graph.operands(*made)[0];
    const Dims& axes = made->params.as<BroadcastParams>().axes;
    bool stretches = false;
    for (std::size_t i = 0; i < axes.size(); ++i)
      stretches |=
          graph.aval(source).shape()[i] != graph.aval(value).shape()[static_cast<std::size_t>(axes[i])];
    if (!stretches) return {source, axes};
  }
  return {value, Dims::counting(graph.aval(value).shape().size())};
}

std::optional<Guard> guard_for_operand(const Graph& graph, const Eqn& e, std::size_t k, const Guard& guard) {
  Guard found = guard;
  for (std::int64_t& axis : found.axes) {
    axis = operand_axis(graph, e, k, axis);
    if (axis < 0) return std::nullopt;
  }
  return found;
}

}  // namespace apsis::detail
