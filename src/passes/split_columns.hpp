#pragma once

// Elementwise code on arrays with few columns that are moved about, column by column, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The last axes of an array with no more than 16 elements together are its columns: the components of
/// points, the entries of small matrices. Where code puts columns beside one another, moves them or repeats
/// them (`stack`, `cross`, transposes and outer products of small matrices, Jacobians of lanes), its
/// elementwise ops and small products become ops on single columns. No memory holds what lies between, and
/// one loop puts the results beside one another in registers. So do products that rows of columns, as they
/// lie, are no vectors for: those with vectors.
GraphRef split_columns(const Graph& graph);

}  // namespace apsis::detail
