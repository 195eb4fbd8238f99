#pragma once

// Products of small matrices, one after the other: rows of the second one stay in registers while all rows of
// the first one meet them.

#include "codegen/emit/contraction.hpp"

namespace apsis::detail {

/// Whether the last two axes of a contraction are such a product, added up in one chain.
bool is_small_product(const Contraction& contraction, int vector);
/// Writes the loops.
void write_small_product(Builder& b, const Contraction& contraction);

}  // namespace apsis::detail
