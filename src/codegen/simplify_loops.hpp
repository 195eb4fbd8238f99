#pragma once

// What loops need not do: a rewrite of whole programs before code is written.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The same program, bit for bit, whose loops carry only what their conditions, effects and used results
/// depend on, take the carries that never change as constants, and leave out of their bodies what is costly,
/// cannot fail and is the same in every iteration: it is computed before the loop, out of all loops that it
/// does not depend on.
GraphRef simplify_loops(const Graph& graph);

}  // namespace apsis::detail
