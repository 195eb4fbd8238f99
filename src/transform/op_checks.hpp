#pragma once

#include "apsis/transform/checks.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

/// The graph with checks of its own equations, in regions too, as effects.
GraphRef with_checks(const Graph& graph, const Checks& checks);

}  // namespace apsis::detail
