#pragma once

// Elementwise code that reads columns put side by side, column by column, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Elementwise ops on large concatenations of single columns, forwards or backwards, become concatenations
/// of ops on columns. No memory holds what is concatenated, and loops put what they make beside one another
/// in registers.
GraphRef split_columns(const Graph& graph);

}  // namespace apsis::detail
