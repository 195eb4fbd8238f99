#pragma once

// Sums of padded arrays that lie beside one another, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Sums of arrays with zeros around them, of which no two have an element at one place, become
/// concatenations: the gradients of columns of a matrix, for one. One array without zeros may be added to
/// them. Only where loops do not read the padded arrays themselves (`pads_around`).
GraphRef join_pads(const Graph& graph);

}  // namespace apsis::detail
