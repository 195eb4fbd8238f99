#pragma once

// A product of matrices and the elementwise code that reads it, strip by strip: what is made of some rows is
// in the first cache when the code reads it.

#include "codegen/emit/fused_loop.hpp"

namespace apsis::detail {

/// Writes the loop, whose `product` is set.
void write_product_loop(Builder& b, const FusedLoop& loop, bool optimized);

}  // namespace apsis::detail
