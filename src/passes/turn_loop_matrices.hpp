#pragma once

// Matrices that a loop multiplies by in each iteration, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// A matrix that does not change in a loop, and that large products in it read along the contracted axis, is
/// turned once before the loop. The products would copy it in each iteration: a layer's weights w of a
/// product x wᵀ.
GraphRef turn_loop_matrices(const Graph& graph);

}  // namespace apsis::detail
