#pragma once

// What is computed of numbers alone is computed of numbers, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Elementwise ops on numbers that are repeated everywhere become ops on the numbers, whose result is
/// repeated: passes that take arrays apart know it as such.
GraphRef lift_numbers(const Graph& graph);

}  // namespace apsis::detail
