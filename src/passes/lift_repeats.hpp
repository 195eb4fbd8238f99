#pragma once

// What is the same for repeated elements is computed once, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// An elementwise op on arrays that are all repeated in the same way, and on numbers, becomes the op on what
/// is repeated. A sum of few repeated elements becomes additions. Repeated repetitions become one. All else
/// is as it was.
GraphRef lift_repeats(const Graph& graph);

}  // namespace apsis::detail
