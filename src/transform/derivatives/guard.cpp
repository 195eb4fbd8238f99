#include "transform/derivatives/guard.hpp"

#include <algorithm>
#include <cstring>

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

/// The same for the array that a gather reads: an axis that all slices have whole, or one of batching.
std::int64_t before_gather(const GatherParams& p, const Shape& from, std::int64_t axis) {
  if (const std::int64_t offset = place_in(p.offset_dims, axis); offset >= 0) {
    std::int64_t kept = -1, of = -1;
    while (kept < offset) {
      ++of;
      kept += !p.collapsed_slice_dims.contains(of) && !p.operand_batching_dims.contains(of);
    }
    const auto at = static_cast<std::size_t>(of);
    return p.slice_sizes[at] == from[at] ? of : -1;
  }
  std::int64_t of_indices = axis;
  for (std::int64_t offset : p.offset_dims) of_indices -= offset < axis;
  const std::int64_t batching = place_in(p.start_indices_batching_dims, of_indices);
  return batching < 0 ? -1 : p.operand_batching_dims[static_cast<std::size_t>(batching)];
}

/// The same for the updates of a scatter: an axis of the array that all slices have whole, or one of
/// batching.
std::int64_t before_scatter(const GatherParams& p, const Shape& array, std::int64_t axis) {
  const auto is_dropped = [&](std::int64_t a) {
    return p.collapsed_slice_dims.contains(a) || p.operand_batching_dims.contains(a);
  };
  const std::int64_t batching = place_in(p.operand_batching_dims, axis);
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t left =
      0;  // axes of the updates of the same kind, of slices or of the indices, that come before
  if (batching >= 0) {
    left = p.start_indices_batching_dims[static_cast<std::size_t>(batching)];
  } else {
    if (is_dropped(axis) || p.slice_sizes[at] != array[at]) return -1;
    for (std::int64_t a = 0; a < axis; ++a) left += !is_dropped(a);
  }
  for (std::int64_t of = 0;; ++of)
    if (p.offset_dims.contains(of) == (batching < 0) && left-- == 0) return of;
}

/// The axis of operand `k` that is axis `axis` of the result, entry by entry, or -1.
std::int64_t operand_axis(const Graph& graph, const Eqn& e, std::size_t k, std::int64_t axis) {
  const auto operands = graph.operands(e);
  const Shape &from = graph.aval(operands[k]).shape(), &to = graph.aval(e.first_result).shape();
  const auto at = static_cast<std::size_t>(axis);
  const auto stays = [&](bool untouched) { return untouched && from[at] == to[at] ? axis : -1; };
  if (e.op->kind == OpKind::Elementwise) return axis;
  if (e.op == &transpose_op) return e.params.as<TransposeParams>().permutation[at];
  if (e.op == &reverse_op) return stays(!e.params.as<ReverseParams>().axes.contains(axis));
  if (e.op == &dynamic_slice_op) return stays(k == 0);
  if (e.op == &dynamic_update_slice_op) return stays(k < 2 && graph.aval(operands[1]).shape()[at] == to[at]);
  if (e.op == &gather_op) return k == 0 ? before_gather(e.params.as<GatherParams>(), from, axis) : -1;
  if (e.op == &scatter_op) {
    if (k == 0) return axis;
    return k == 2 ? before_scatter(e.params.as<ScatterParams>().places, to, axis) : -1;
  }
  if (e.op == &slice_op) return stays(e.params.as<SliceParams>().stride[at] == 1);
  if (e.op == &pad_op) {
    const auto& p = e.params.as<PadParams>();
    return stays(k == 0 && p.low[at] == 0 && p.interior[at] == 0);
  }
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
  if (e.op == &reshape_op)
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
