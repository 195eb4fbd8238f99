#pragma once

// Elementwise equations on arrays with axes of size 1, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// They are computed without these axes: columns of an array, [n, 1], and vectors, [n], then share loops.
GraphRef drop_unit_axes(const Graph& graph);

}  // namespace apsis::detail
