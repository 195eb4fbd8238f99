#pragma once

// Gathers and scatters of single elements become part of fused loops, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Large gathers whose slices are single elements become picks, and such scatters puts. Their indices are
/// read from where index vectors were put together, so that the loop that computes them can be that of the
/// gather.
GraphRef pick_elements(const Graph& graph);

}  // namespace apsis::detail
