#pragma once

// Factors of banded matrices that stay where the program keeps them: what solvers that solve with one matrix
// again and again are made of; not part of apsis.hpp.

#include "apsis/ops/decomposition.hpp"

namespace apsis::detail {

/// Factors of an n × n matrix as one vector, of its entries [count], and the place of each, i64[count], among
/// the diagonals as `solve_banded` has them, in row-major order. Rows are exchanged where that is more exact.
/// f64 or f32; without derivative.
Array banded_lu(std::int64_t n, const linalg::Bandwidths& widths, const Array& entries, const Array& places);
/// How many elements they take.
std::int64_t banded_lu_size(std::int64_t n, const linalg::Bandwidths& widths);
/// x with A·x = right, or Aᵀ·x = right, [n]: row and column k of the bands are row and column order[k] of A,
/// i64[n]. NaN where A is singular. Derivatives are those by `right`.
Array banded_lu_solve(const linalg::Bandwidths& widths, const Array& factors, const Array& order,
                      const Array& right, bool transposed = false);

}  // namespace apsis::detail
