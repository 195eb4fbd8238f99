#pragma once

// Elementwise code that reads large concatenations, part by part, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Elementwise ops on concatenations become concatenations of ops on their parts, and so do the ops around
/// them: a stencil of `roll` or `gradient` is a loop over the array that is rolled, with loops for its
/// border. No memory holds what is concatenated. Only of large arrays that a few cuts take apart.
GraphRef split_at_joins(const Graph& graph);

}  // namespace apsis::detail
