#include "transform/derivatives/guard.hpp"

#include <algorithm>
#include <cstring>

#include "ops/lax.hpp"
#include "ops/operand_axis.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {

namespace {

Array of_shape(const Array& condition, const Shape& shape, const Dims& axes) {
  const bool as_it_is = condition.shape() == shape && leads(axes);
  return as_it_is ? condition : lax::broadcast_in_dim(condition, shape, axes);
}

/// Whether two conditions are known to be one: the same value of a program, lane by lane under vmap, or equal
/// elements where functions are called op by op.
bool same_value(const Array& a, const Array& b) {
  if (a.node() == b.node()) return true;
  if (a.is_empty() || b.is_empty()) return false;
  if (a.node()->kind != b.node()->kind) return false;
  if (a.node()->kind == NodeKind::Buffer)
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           std::memcmp(data_of(a), data_of(b), static_cast<std::size_t>(a.size()) * item_size(a.dtype())) ==
               0;
  if (a.node()->kind == NodeKind::Stage) {
    const auto &x = *static_cast<const StageNode*>(a.node()), &y = *static_cast<const StageNode*>(b.node());
    return x.tag == y.tag && x.id == y.id;
  }
  if (a.node()->kind == NodeKind::Batch) {
    const auto &x = *static_cast<const BatchNode*>(a.node()), &y = *static_cast<const BatchNode*>(b.node());
    return x.tag == y.tag && x.axis == y.axis && same_value(x.value, y.value);
  }
  return false;
}

}  // namespace

bool Guard::has_condition_of(const Guard& o) const {
  return same_value(condition, o.condition) && axes == o.axes;
}

Guard guard_of(const AxesCondition& condition) {
  if (condition.holds.is_empty()) return {};
  return {condition.holds, condition.axes};
}

Guard guard_of(const Array& condition) { return guard_of(AxesCondition::for_first_axes(condition)); }

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
  if (made && made->op->view_kind == ViewKind::Repeated) {
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

namespace {

/// Axes [a0, a1) of a reshape's operand that are axes [b0, b1) of its result.
struct SameAxes {
  std::size_t a0, a1, b0, b1;
};
std::vector<SameAxes> groups_of_axes(const Shape& operand, const Shape& result) {
  std::vector<SameAxes> groups;
  for (std::size_t a = 0, b = 0; a < operand.size() || b < result.size();) {
    const std::size_t a0 = a, b0 = b;
    std::int64_t before = a < operand.size() ? operand[a++] : 1, after = b < result.size() ? result[b++] : 1;
    while (before != after) before < after ? before *= operand[a++] : after *= result[b++];
    groups.push_back({a0, a, b0, b});
  }
  return groups;
}

/// The guard of a reshape's result, for its operand: for whole groups of axes that are the same elements.
std::optional<Guard> before_reshape(const Guard& guard, const Shape& operand, const Shape& result) {
  if (result.product() == 0) return std::nullopt;
  Guard found;
  Shape wide, narrow;
  Dims in_result;
  bool as_it_is = true;
  for (const SameAxes& g : groups_of_axes(operand, result)) {
    const auto is_inside = [&](std::int64_t axis) {
      return g.b0 <= static_cast<std::size_t>(axis) && static_cast<std::size_t>(axis) < g.b1;
    };
    if (std::ranges::none_of(guard.axes, is_inside)) continue;
    as_it_is = as_it_is && g.a1 - g.a0 == 1 && g.b1 - g.b0 == 1;
    for (std::size_t b = g.b0; b < g.b1; ++b) {
      in_result.push_back(static_cast<std::int64_t>(b));
      wide.push_back(result[b]);
    }
    for (std::size_t a = g.a0; a < g.a1; ++a) {
      found.axes.push_back(static_cast<std::int64_t>(a));
      narrow.push_back(operand[a]);
    }
  }
  Dims places;
  for (std::int64_t axis : guard.axes) places.push_back(place_in(in_result, axis));
  found.zeroed = guard.zeroed;
  if (as_it_is && leads(places)) {
    found.condition = guard.condition;
    found.when = guard.when;
  } else {
    found.condition = lax::reshape(of_shape(holds(guard), wide, places), narrow);
  }
  return found;
}

}  // namespace

std::optional<Guard> guard_for_operand(const Graph& graph, const Eqn& e, std::size_t k, const Guard& guard) {
  if (e.op->view_kind == ViewKind::Reshaped)
    return before_reshape(guard, graph.aval(graph.operands(e)[0]).shape(),
                          graph.aval(e.first_result).shape());
  Guard found = guard;
  for (std::int64_t& axis : found.axes) {
    axis = operand_axis(graph, e, k, axis);
    if (axis < 0) return std::nullopt;
  }
  return found;
}

}  // namespace apsis::detail
