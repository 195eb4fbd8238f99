#pragma once

// Functions called, written where they are called.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The same program with the equations of functions in place of their calls: of all, or of those that have
/// loops.
GraphRef with_calls_inlined(const Graph& graph, bool only_with_loops = false);

}  // namespace apsis::detail
