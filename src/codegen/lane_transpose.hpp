#pragma once

// Large arrays of lanes between their two layouts: apart, each lane's elements one after the other, as
// operands and results of map_lanes are; and side by side, the packet's copies of one element next to each
// other.

#include "codegen/builder.hpp"

namespace apsis::detail {

/// `arrays`: of all lanes, `size` elements each; `packet`: those of the lanes `ids`. The element type must be
/// one that `transposes_lanes` allows.
struct LaneArrays {
  Pointer apart, packet;
  Value ids;  // all of them lanes that there are
  std::int64_t size;
  Dtype dtype;
};

bool transposes_lanes(const Builder& b, Dtype dtype, std::int64_t size, int lanes);
/// What lanes outside `mask` get is not said; no handle: all lanes.
void put_side_by_side(Builder& b, const LaneArrays& arrays, Value mask = {});
/// Of the lanes in `mask` alone.
void put_apart(Builder& b, const LaneArrays& arrays, Value mask);

}  // namespace apsis::detail
