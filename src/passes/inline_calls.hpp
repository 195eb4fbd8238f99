#pragma once

// Functions called, written where they are called.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The program with the equations of functions in place of all calls, in the functions called too; its
/// regions stay as they are.
GraphRef inline_calls(const Graph& graph);
/// The same of functions that have loops, in regions too: what follows sees these loops beside those around.
GraphRef inline_calls_with_loops(const Graph& graph);

}  // namespace apsis::detail
