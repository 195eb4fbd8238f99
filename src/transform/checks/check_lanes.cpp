#include "transform/checks/check_lanes.hpp"

#include <algorithm>

#include "ops/index_params.hpp"
#include "ops/lax.hpp"

namespace apsis::detail {
namespace {

Array by_lane(const Array& a, const LaneAxes& lanes, Array (*reduce)(const Array&, const Dims&)) {
  Dims others, order;
  for (std::int64_t axis = 0; axis < a.ndim(); ++axis)
    if (!lanes.contains(axis)) others.push_back(axis);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    std::int64_t before = 0;
    for (std::size_t k = 0; k < lanes.size(); ++k) before += lanes[k] < lanes[i];
    order.push_back(before);
  }
  const Array reduced = others.empty() ? a : reduce(a, others);
  return order == Dims::counting(order.size()) ? reduced : lax::transpose(reduced, order);
}

std::size_t place_in(const Dims& dims, std::int64_t axis) {
  return static_cast<std::size_t>(std::ranges::find(dims, axis) - dims.begin());
}

}  // namespace

Array any_by_lane(const Array& condition, const LaneAxes& lanes) {
  return by_lane(condition, lanes, lax::reduce_or);
}
Array min_by_lane(const Array& a, const LaneAxes& lanes) { return by_lane(a, lanes, lax::reduce_min); }
Array max_by_lane(const Array& a, const LaneAxes& lanes) { return by_lane(a, lanes, lax::reduce_max); }

Shape shape_of_lanes(const Array& a, const LaneAxes& lanes) {
  Shape shape;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    shape.push_back(a.shape()[static_cast<std::size_t>(lanes[i])]);
  return shape;
}

Array for_lanes(const Array& a, const Shape& lanes) {
  return a.ndim() == 0 && !lanes.empty() ? lax::broadcast_in_dim(a, lanes, {}) : a;
}

LaneAxes lanes_of_result(const Graph& graph, const Eqn& e, std::span<const LaneAxes> known) {
  if (e.result_count == 0) return {};
  LaneAxes found = known[e.first_result];
  if (!found.empty() || e.op->kind != OpKind::Elementwise) return found;
  for (ValueId v : graph.operands(e))
    if (known[v].size() > found.size() && graph.aval(v).shape() == graph.aval(e.first_result).shape())
      found = known[v];
  return found;
}

IndexLanes lanes_of_gather(const GatherParams& p, const Shape& array, const LaneAxes& result) {
  Dims kept;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(array.size()); ++axis)
    if (!p.collapsed_slice_dims.contains(axis) && !p.operand_batching_dims.contains(axis))
      kept.push_back(axis);
  IndexLanes found;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t of_slice = place_in(p.offset_dims, result[i]);
    if (of_slice < p.offset_dims.size()) {
      found.array.push_back(kept[of_slice]);
      continue;
    }
    const std::int64_t of_indices =
        result[i] - std::ranges::count_if(p.offset_dims, [&](std::int64_t axis) { return axis < result[i]; });
    found.indices.push_back(of_indices);
    const std::size_t shared = place_in(p.start_indices_batching_dims, of_indices);
    if (shared < p.operand_batching_dims.size()) found.array.push_back(p.operand_batching_dims[shared]);
  }
  return found;
}

IndexLanes lanes_of_scatter(const GatherParams& p, const LaneAxes& result) {
  IndexLanes found{result, {}};
  for (std::size_t i = 0; i < result.size(); ++i)
    if (const std::size_t shared = place_in(p.operand_batching_dims, result[i]);
        shared < p.operand_batching_dims.size())
      found.indices.push_back(p.start_indices_batching_dims[shared]);
  return found;
}

std::int64_t axis_in_lane(std::int64_t axis, const LaneAxes& lanes) {
  std::int64_t before = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) before += lanes[i] < axis;
  return axis - before;
}

}  // namespace apsis::detail
