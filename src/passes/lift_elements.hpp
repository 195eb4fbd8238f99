#pragma once

// What a loop computes, element by element, of its entries alone or for its records alone.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The same program, bit for bit, whose scans, in regions too, leave out of their bodies long computations of
/// a few numbers: those of entries are made for all entries before the loop, which goes over the results, and
/// those that are only recorded after it, of what it records instead. There they are vectors. Not in the
/// regions of lanes, where they are vectors already.
GraphRef lift_elements(const Graph& graph);

}  // namespace apsis::detail
