#pragma once

// The entries of sparse Jacobians out of the terms of derivatives.

#include "apsis/transform/linear_terms.hpp"
#include "apsis/transform/sparsity.hpp"

namespace apsis::detail {

/// The entries at the places of the pattern, by rows; zero where no term has one. An empty array if there are
/// no terms, or if an entry is a sum of several of them.
Array entries_of_terms(const SparsePattern& pattern, const std::vector<LinearTerm>& terms, Dtype dtype);

}  // namespace apsis::detail
