#pragma once

// Rows of a large array that are reduced, and read again together with the result, go through memory once.

#include "ir/graph.hpp"

namespace apsis::detail {

/// `(x - mean(x)) / std(x)` along rows, a softmax, and their derivatives read their arrays once for each
/// reduction. Here such equations become a map over blocks of rows that stay in the first cache. So do
/// products of rows with a small matrix, or with one each, and what reads their results. It looks into loops
/// and branches, but not into lanes.
GraphRef block_rows(const Graph& graph);

}  // namespace apsis::detail
