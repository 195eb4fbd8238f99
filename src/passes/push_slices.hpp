#pragma once

// Slices are taken of what arrays are made of, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Results of elementwise ops, concatenations, pads and views of which only slices are read become as many
/// smaller ones, made of slices of the operands. What no slice has is not computed, and what remains can
/// share the loop of its reader. Elements that several slices have are computed once for each where that
/// takes less time than memory.
GraphRef push_slices(const Graph& graph);

}  // namespace apsis::detail
