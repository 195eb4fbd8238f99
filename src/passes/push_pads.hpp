#pragma once

// Pads of elementwise results read what these are computed from, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The gradient of a filter is a sum of pads of one array times numbers. A loop reads pads, but each product
/// would be an array of its own. So the op is computed where the pad is read, of a padded operand, and the
/// padding value chosen outside.
GraphRef push_pads(const Graph& graph);

}  // namespace apsis::detail
