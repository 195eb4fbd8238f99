#pragma once

// Parameters of the ops on matrices, which are the last two axes of an array.

// Of complex matrices: ᴴ is the conjugate transpose, ᵀ of real ones; eigenvalues of Hermitian ones and
// singular values are real.

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis::detail {

/// cholesky: the lower triangle of A → L with A = L·Lᴴ, zeros above; NaN where A is not positive definite.
extern const Op cholesky_op;

/// lu: A (m × n) → (L below the diagonal and U, pivots i32[.., min(m, n)]: row i was exchanged with row
/// pivots[i], permutation i32[.., m]: row i of L·U is row permutation[i] of A).
extern const Op lu_op;

/// triangular_solve: operands (a, b), of which one triangle of a is read → op(a)⁻¹·b, or b·op(a)⁻¹. The
/// leading axes of a are the last ones of those of b. `conjugate_a` goes with `transpose_a` alone.
struct TriangularSolveParams {
  bool left_side = true, lower = false, transpose_a = false, unit_diagonal = false, conjugate_a = false;
  static void each(auto& self, auto&& visit) {
    visit("left_side", self.left_side);
    visit("lower", self.lower);
    visit("transpose_a", self.transpose_a);
    visit("unit_diagonal", self.unit_diagonal);
    visit("conjugate_a", self.conjugate_a);
  }
};
extern const Op triangular_solve_op;

/// lu_solve: operands (what lu gives but for the permutation: L and U, pivots; right sides b [.., n,
/// columns]) → A⁻¹·b, or A⁻ᵀ·b. The leading axes of the factors are the last ones of those of b.
struct LuSolveParams {
  bool transposed = false;
  static void each(auto& self, auto&& visit) { visit("transposed", self.transposed); }
};
extern const Op lu_solve_op;

/// solve: square A and right sides b [.., n, columns], with equal leading axes → A⁻¹·b: lu and lu_solve in
/// one.
extern const Op solve_op;

/// qr: A (m × n) → (Q, R): m × k and k × n with k = min(m, n), or m if `full_matrices`.
struct QrParams {
  bool full_matrices = false;
  static void each(auto& self, auto&& visit) { visit("full_matrices", self.full_matrices); }
};
extern const Op qr_op;

/// eigh: the lower triangle of A → eigenvalues in ascending order, and eigenvectors as columns if
/// `compute_vectors`.
struct EighParams {
  bool compute_vectors = true;
  static void each(auto& self, auto&& visit) { visit("compute_vectors", self.compute_vectors); }
};
extern const Op eigh_op;

/// eig: A (n × n) → eigenvalues, in no order, and eigenvectors as columns if `compute_vectors`; complex. NaN
/// where A is not finite, as of the following ones.
struct EigParams {
  bool compute_vectors = true;
  static void each(auto& self, auto&& visit) { visit("compute_vectors", self.compute_vectors); }
};
extern const Op eig_op;

/// schur: A → T, Z with A = Z·T·Zᴴ; of real A blocks of 2 × 2 stand on T's diagonal for pairs of eigenvalues.
extern const Op schur_op;

/// hessenberg: A → H, Q with A = Q·H·Qᴴ, zeros below the first diagonal under the main one.
extern const Op hessenberg_op;

/// sylvester: operands (A, B, C), m × m, n × n, m × n → X with A·X + X·B = C; NaN where an eigenvalue of A is
/// one of -B.
extern const Op sylvester_op;

/// sqrtm: complex A → X with X·X = A, whose eigenvalues have real parts that are not negative.
extern const Op sqrtm_op;

/// svd: A (m × n) → singular values in descending order, and if `compute_uv` U and Vᴴ: m × k and k × n with
/// k = min(m, n), or m × m and n × n if `full_matrices`.
struct SvdParams {
  bool full_matrices = false, compute_uv = true;
  static void each(auto& self, auto&& visit) {
    visit("full_matrices", self.full_matrices);
    visit("compute_uv", self.compute_uv);
  }
};
extern const Op svd_op;

/// banded_solve: operands (A, b): a matrix as its diagonals [.., upper + 1 + lower, n], of which row
/// upper + i - j holds at j the entry (i, j), and is not read where there is none; right sides
/// [.., n, columns] → A⁻¹·b; NaN where A is singular.
struct BandedSolveParams {
  std::int64_t lower = 0, upper = 0;
  static void each(auto& self, auto&& visit) {
    visit("lower", self.lower);
    visit("upper", self.upper);
  }
};
extern const Op banded_solve_op;

/// banded_lu: the entries [.., count] of an n × n matrix with bands, and of each its place i64[count] among
/// the diagonals as banded_solve has them, [lower + 1 + upper, n] → its factors as one vector [..,
/// banded_factors_size]. Real f64 or f32. It has no derivative.
struct BandedLuParams {
  std::int64_t n = 0, lower = 0, upper = 0;
  static void each(auto& self, auto&& visit) {
    visit("n", self.n);
    visit("lower", self.lower);
    visit("upper", self.upper);
  }
};
extern const Op banded_lu_op;
std::int64_t banded_factors_size(const BandedLuParams& p);

/// banded_lu_solve: operands (factors of banded_lu, order i64[n], right sides b [.., n]) → A⁻¹·b, or A⁻ᵀ·b,
/// where row and column k of the bands are row and column order[k] of A; NaN where A is singular, and of
/// zeros in place of factors. Leading axes of the factors are those of b, or there are none.
struct BandedLuSolveParams {
  std::int64_t lower = 0, upper = 0;
  bool transposed = false;
  static void each(auto& self, auto&& visit) {
    visit("lower", self.lower);
    visit("upper", self.upper);
    visit("transposed", self.transposed);
  }
};
extern const Op banded_lu_solve_op;

}  // namespace apsis::detail
