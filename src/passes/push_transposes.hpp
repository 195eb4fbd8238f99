#pragma once

// Transposes of what is computed by element, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The transpose of a large elementwise result, which elementwise code reads, is that result of transposes,
/// if little is computed and no more than one array is then read across its rows: nothing is brought to
/// memory to be turned.
GraphRef push_transposes(const Graph& graph);

}  // namespace apsis::detail
