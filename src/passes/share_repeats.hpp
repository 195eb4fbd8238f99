#pragma once

// What a program does several times becomes a function that it calls.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Runs of equations on few elements that a program, or a region of it, has several times become calls of one
/// function, where that is worth it: the slopes of a Runge-Kutta method's stages, the statements of a long
/// chain.
GraphRef share_repeats(const Graph& graph);

}  // namespace apsis::detail
