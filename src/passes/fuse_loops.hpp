#pragma once

// Loop fusion: loops that run side by side and do the same become one.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The program, in regions too, with one loop in place of two that go through the same iterations, where the
/// earlier carries all that the later carries: it records what both record. The body of a loop that records
/// looks like this when it has a loop itself: what nobody reads was removed from the copy that records, but
/// not from the other.
GraphRef fuse_loops(const Graph& graph);

}  // namespace apsis::detail
