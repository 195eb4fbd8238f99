#pragma once

// Loop-invariant code motion.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The same program, bit for bit, whose loops, in regions too, take the carries that never change as
/// constants, and leave out of their bodies what is costly, cannot fail and is the same in every iteration:
/// it is computed before the loop, out of all loops that it does not depend on.
GraphRef hoist_invariants(const Graph& graph);

}  // namespace apsis::detail
