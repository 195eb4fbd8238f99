#pragma once

// What a loop computes of its entries alone, element by element, for all entries before it.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The same program, bit for bit, whose scans, in regions too, leave out of their bodies long computations of
/// a few numbers that come of the entries: they are made for all entries before the loop, in vectors, and the
/// loop goes over the results. Not in the regions of lanes, which are vectors already.
GraphRef hoist_elements(const Graph& graph);

}  // namespace apsis::detail
