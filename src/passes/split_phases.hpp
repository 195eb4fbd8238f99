#pragma once

// Elementwise code that reads arrays with other elements between theirs, phase by phase, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Gradients of slices with steps are pads with zeros between the elements. Elementwise ops on large ones are
/// done for every second, third … element by itself, of the same slices of the other operands: those that the
/// padded array has meet it as it is, the others the value around it. The results, put beside one another in
/// axes of the steps, are what was asked for. No memory holds what is padded.
GraphRef split_phases(const Graph& graph);

}  // namespace apsis::detail
