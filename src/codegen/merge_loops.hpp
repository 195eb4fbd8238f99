#pragma once

// Loops that run side by side and do the same are one.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The program with one loop in place of two that go through the same iterations, where all that the later
/// carries the earlier carries too: it records what both record. That is how the body of a loop looks whose
/// own body has a loop, when it records: what nobody reads has been taken out of the loop that records, but
/// not out of the other.
GraphRef merge_loops(const Graph& graph);

}  // namespace apsis::detail
