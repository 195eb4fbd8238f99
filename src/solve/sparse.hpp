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

}  // namespace apsis::detail
