#pragma once

// Elementwise ops are computed in shapes in which what they read needs no copy, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Elementwise equations that read each other's results change their shape together:
/// - where one reads repeated elements, or others out of order, whose axes are put together by a reshape that
///   would need a copy, all are computed before the axes are put together, and sums of what they give too;
/// - where all that they read is transposed in one way, and all that reads them takes that back, they are
///   computed as if neither was there.
GraphRef keep_views(const Graph& graph);

}  // namespace apsis::detail
