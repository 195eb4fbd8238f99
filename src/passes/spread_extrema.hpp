#pragma once

// Places of extrema (argmax, argmin) of larger arrays, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// They become elementwise code and reductions, which loops are made of: along short axes, comparisons of the
/// entries one after the other; else the extremum, and the least of the places where it is.
GraphRef spread_extrema(const Graph& graph);

}  // namespace apsis::detail
