#pragma once

// Gathers of windows: elements whose places are a sum of steps along each axis.

#include "ir/graph.hpp"

namespace apsis::detail {

/// `x[expand_dims(arange(m), {1}) + arange(w)]`, and other gathers of single elements along the last axis at
/// places within the array that grow by a number of steps from row to row and by another from column to
/// column. Of few columns that are read one by one they become slices side by side, and the sum of such
/// elements at their places (the gradient) becomes one of padded columns; of more columns, a sum of whole
/// rows. Not in lanes, whose arrays are small.
GraphRef slice_windows(const Graph& graph);

}  // namespace apsis::detail
