#pragma once

#include <span>

#include "ir/graph.hpp"

namespace apsis::detail {

struct GatherParams;

/// What a check finds, lane by lane: an array with the lanes of the value in the order of their vmaps, and no
/// other axes. Scalars where no lanes are known.
Array any_by_lane(const Array& condition, const LaneAxes& lanes);
Array min_by_lane(const Array& a, const LaneAxes& lanes);
Array max_by_lane(const Array& a, const LaneAxes& lanes);

/// The lengths of the axes that are lanes.
Shape shape_of_lanes(const Array& a, const LaneAxes& lanes);
/// A scalar repeated for all lanes; what has them already stays as it is.
Array for_lanes(const Array& a, const Shape& lanes);

/// The lanes of the first result of an equation: those noted, else, of what rules compute on the way element
/// by element, those of its operands. `known`: by value.
LaneAxes lanes_of_result(const Graph& graph, const Eqn& e, std::span<const LaneAxes> known);

/// Lanes of the operands of a gather or a scatter, from those of its result.
struct IndexLanes {
  LaneAxes array, indices;
};
IndexLanes lanes_of_gather(const GatherParams& p, const Shape& array, const LaneAxes& result);
IndexLanes lanes_of_scatter(const GatherParams& p, const LaneAxes& result);

/// The number that an axis of a whole array has in a lane.
std::int64_t axis_in_lane(std::int64_t axis, const LaneAxes& lanes);

}  // namespace apsis::detail
