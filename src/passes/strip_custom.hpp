#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// The program alone, which is all that compilation asks for: ops with rules of their own become calls, in
/// regions too.
GraphRef strip_custom(const Graph& graph);

}  // namespace apsis::detail
