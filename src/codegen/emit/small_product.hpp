#pragma once

// Products of small matrices, one after the other: rows of the second one stay in registers while all rows of
// the first one meet them.

#include "codegen/emit/contraction.hpp"
#include "ops/dot_params.hpp"

namespace apsis::detail {

/// Whether the last two axes of a contraction are such a product, added up in one chain.
bool is_small_product(const Contraction& contraction, int vector);
/// Writes the loops.
void write_small_product(Builder& b, const Contraction& contraction);

/// Whether rows of two to four elements meet as few columns, or one. The order of sums is the same for
/// products of any size.
bool is_short(const DotSizes& sizes);
/// The same where many such rows, without gaps, meet one matrix: points that are turned, pixels whose colours
/// are mixed. A vector holds one coordinate of several rows.
bool is_product_of_short_rows(const Contraction& c, int vector);
void write_product_of_short_rows(Builder& b, const Contraction& c, int vector);

}  // namespace apsis::detail
