#pragma once

// A product of matrices and the elementwise code that reads it, as one loop: tiles of the product are summed
// in registers, and never leave the first cache before the code has read them.

#include "codegen/emit/fused_loop.hpp"

namespace apsis::detail {

/// Writes the loop, whose `product` is set.
void write_product_loop(Builder& b, const FusedLoop& loop);

}  // namespace apsis::detail
