#pragma once

// Large arrays of lanes between their two layouts: apart, each lane's elements one after the other, as
// operands and results of map_lanes are; and side by side, the packet's copies of one element next to each
// other.

#include "codegen/emit/lowering.hpp"

namespace apsis::detail {

/// The arrays of the lanes `ids`, `size` elements each. The element type must be one that `transposes_lanes`
/// allows.
struct LaneArrays {
  Value ids;  // all of them lanes that there are
  std::int64_t size;
  Dtype dtype;
};

bool transposes_lanes(const Builder& b, Dtype dtype, std::int64_t size, int lanes);
/// `apart`: those of all lanes. What lanes outside `mask` get is not said; no handle: all lanes.
void put_side_by_side(Lowering& lowering, const LaneArrays& arrays, ConstPointer apart, Pointer packet,
                      Value mask);
/// Of the lanes in `mask` alone.
void put_apart(Lowering& lowering, const LaneArrays& arrays, ConstPointer packet, Pointer apart, Value mask);

}  // namespace apsis::detail
