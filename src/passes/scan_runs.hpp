#pragma once

// Running sums and products of arrays that lanes have in memory.

#include "ir/graph.hpp"

namespace apsis::detail {

/// In what lanes run, they become scans, whose steps go on in all lanes of a packet at once. Arrays that fit
/// registers, and others than along their first axis, stay as they are.
GraphRef scan_runs(const Graph& graph);

}  // namespace apsis::detail
