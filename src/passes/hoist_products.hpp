#pragma once

// Products of what a loop goes over, as one product before it.

#include "ir/graph.hpp"

namespace apsis::detail {

/// The same program, bit for bit, whose scans, in regions too, leave out of their bodies the products of an
/// entry and a constant: the product of all entries is computed before the loop, which goes over its rows.
GraphRef hoist_products(const Graph& graph);

}  // namespace apsis::detail
