#pragma once

// Products of which only the transpose is read, in regions too.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The transpose of a product that nobody else reads is the product of the operands in the other order: aᵀ bᵀ
/// is summed as (b a)ᵀ is, term by term, and nothing is turned in memory.
GraphRef turn_products(const Graph& graph);

}  // namespace apsis::detail
