// Sparse operators: what is done with their entries.
#pragma once

#include "apsis/solve/linear_operator.hpp"

namespace apsis::detail {

/// The sum of two operators that are banded or sparse, as a sparse one.
LinearOperator sum_of_sparse(const LinearOperator& a, const LinearOperator& b, const LinearTags& tags,
                             Loc loc);
LinearOperator transpose_of_sparse(const LinearOperator& a, const LinearTags& tags);
Array matrix_of_sparse(const LinearOperator& a);
/// x with a·x = b, by KLU.
Array sparse_lu_solve(const LinearOperator& a, const Array& b);

/// Rows and columns of a square pattern in an order that brings its entries near the diagonal.
struct BandOrder {
  std::vector<std::int64_t> order;  ///< order[k]: which row, and column, is the k-th
  linalg::Bandwidths widths;        ///< then
  /// Whether a banded solve takes less than one with sparse factors.
  bool is_narrow() const { return widths.lower + 1 + widths.upper <= 24; }
};
/// The order as it is given, or by Cuthill and McKee (1969), reversed, if that is narrower.
BandOrder band_order(const SparsePattern& pattern);
/// x with a·x = b, as a banded system in this order.
Array band_solve(const LinearOperator& a, const BandOrder& order, const Array& b);

}  // namespace apsis::detail
