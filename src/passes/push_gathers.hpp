#pragma once

// What is gathered of a computed array is computed of what is gathered.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The same program, bit for bit, in regions too: of an elementwise result of which gathers alone read less
/// than half, only what they read is computed. Indices out of bounds must mean the nearest row.
GraphRef push_gathers(const Graph& graph);

}  // namespace apsis::detail
