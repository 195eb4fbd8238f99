#pragma once

// Linear least squares in lanes: a triangle in the place of a tall matrix.

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// |A x + b|² is |R x + c|² and a rest that x does not change: with orthonormal columns of Q, A is Q R and c
/// is Qᵀ b.
struct TriangularSystem {
  Array r;  ///< [n, n], zero below the diagonal, nowhere negative on it
  Array c;  ///< [n]
};
/// Of A: [m, n] and b: [m].
TriangularSystem triangular_system(const Array& a, const Array& b);
/// The same of the rows of R and, under them, a diagonal matrix with the root of λ, against 0.
TriangularSystem damped_system(const TriangularSystem& system, const Array& lambda);

/// x with R x = b, or Rᵀ x = b; where the diagonal is zero, so is x if all of R's column and b are.
Array solve_triangle(const Array& r, const Array& b, bool transposed = false);

/// The x with the least |R x + c|, the shortest if there are many: singular values of R up to `least` times
/// the largest count as zero.
Array shortest_solution(const TriangularSystem& system, double least, Loc loc);

}  // namespace apsis::detail
