#pragma once

// Sums of products over the iterations of a loop, as one product after it.

#include <span>

#include "ir/graph.hpp"
#include "ops/dot_params.hpp"

namespace apsis::detail {

/// One of the products whose results an iteration adds to a carried sum.
struct LateProduct {
  DotParams params;
  ValueId a, b;  // values of the body
};

/// What a body adds to the sum that is its input `sum` and its output `output`, if that is products alone
/// which are worth computing for all iterations at once: the body reads the sum for nothing else, and what an
/// iteration must keep of the operands takes no more memory than some results. `stacked` marks the inputs
/// that are kept anyway. Otherwise nothing.
std::vector<LateProduct> late_products(const Graph& body, ValueId sum, ValueId output,
                                       const std::vector<char>& stacked);

/// The product of the operands of all iterations, which are stacked along axis 0.
Array product_of_all(const DotParams& params, const Array& a, const Array& b);

}  // namespace apsis::detail
