#pragma once

// Decompositions of matrices and the solves that belong to them: small ones many at once, others by LAPACK.
// Matrices are the last two axes of an array; the axes before count them, and each is decomposed alone.
// Integers become floating; half floats are computed in f32. Of complex matrices Aᴴ is the conjugate
// transpose; of real ones it is the transpose Aᵀ, and Hermitian means symmetric. Derivatives of every order
// are there as stated. Throws for fewer than two axes, and where a matrix must be square and is not.
//
//   auto [w, v] = linalg::eigh(a);
//   Array x = linalg::solve(a, b);  // this and more in apsis/array/linalg.hpp

#include "apsis/core/array.hpp"

/// Linear algebra, with the names of numpy.linalg and scipy.linalg.
namespace apsis::linalg {

/// Options of `cholesky`.
struct CholeskyOptions {
  bool upper = false;            ///< U with A = Uᴴ·U, in place of L
  bool symmetrize_input = true;  ///< decomposes (A + Aᴴ) / 2; otherwise one triangle of A, the lower of L
};
/// The lower triangular L of a Hermitian positive definite A = L·Lᴴ: [.., n, n]. NaN where A is not positive
/// definite. Its derivative is that of Hermitian A (Murray 2016).
Array cholesky(const Array& a, const CholeskyOptions& options = {}, Loc loc = Loc::here());

/// What `lu_factor` gives: rows of A in the order of `permutation` are L·U.
struct LUFactors {
  Array lu;           ///< [.., m, n]: U, and below its diagonal L, whose diagonal is 1
  Array pivots;       ///< i32[.., min(m, n)]: row i was exchanged with row pivots[i], one after the other
  Array permutation;  ///< i32[.., m]: row i of L·U is row permutation[i] of A
};
/// L·U with exchanges of rows, of any m × n matrix. The factors of a singular one have zeros on U's diagonal;
/// their derivative is infinite or NaN.
LUFactors lu_factor(const Array& a, Loc loc = Loc::here());

/// X with A·X = B for square A [.., n, n] and B [.., n, k], whose leading axes broadcast, by lu_factor.
/// `solve` takes vectors, too. Its derivatives solve with the same factors again.
Array solve_columns(const Array& a, const Array& b, Loc loc = Loc::here());
/// The same, or Aᵀ·X = B, by the factors of A. `lu_solve` takes vectors, too.
Array lu_solve_columns(const LUFactors& factors, const Array& b, bool transpose = false,
                       Loc loc = Loc::here());

/// Options of `triangular_solve`.
struct TriangularSolveOptions {
  bool left_side = true;       ///< solves op(A)·X = B; otherwise X·op(A) = B
  bool lower = false;          ///< the triangle of A that is read; the other one is taken for zero
  bool transpose_a = false;    ///< op(A) is Aᵀ
  bool unit_diagonal = false;  ///< the diagonal of A is not read: it is 1
  bool conjugate_a = false;    ///< A is conjugated: op(A) is Aᴴ with transpose_a
};
/// X for triangular A [.., n, n] and B [.., n, k] (or [.., k, n] on the right), whose leading axes broadcast.
/// Where the diagonal has a zero, X is infinite or NaN. (jax.lax.linalg.triangular_solve)
Array triangular_solve(const Array& a, const Array& b, const TriangularSolveOptions& options = {},
                       Loc loc = Loc::here());

/// Options of `qr`.
struct QROptions {
  bool full_matrices = false;  ///< Q is m × m ("complete"); otherwise m × k
};
/// What `qr` gives.
struct QRResult {
  Array q;  ///< [.., m, k] with orthonormal columns, k = min(m, n)
  Array r;  ///< [.., k, n], upper triangular
};
/// A = Q·R by Householder's reflections; R's diagonal is real, its signs are LAPACK's. There is no derivative
/// with full_matrices for m > n; where the first k columns of A depend on each other it is infinite or NaN.
QRResult qr(const Array& a, const QROptions& options = {}, Loc loc = Loc::here());

/// Options of `eigh` and `eigvalsh`.
struct EighOptions {
  bool upper = false;            ///< the triangle that is read without symmetrize_input
  bool symmetrize_input = true;  ///< of (A + Aᴴ) / 2
};
/// What `eigh` gives.
struct EighResult {
  Array eigenvalues;   ///< [.., n], ascending, real
  Array eigenvectors;  ///< [.., n, n]: column i belongs to eigenvalue i
};
/// Eigenvalues and orthonormal eigenvectors of Hermitian A, whose signs are LAPACK's. Eigenvectors of equal
/// eigenvalues are no functions of A: their derivative is infinite or NaN, that of eigenvalues is not. NaN
/// where A is not finite.
EighResult eigh(const Array& a, const EighOptions& options = {}, Loc loc = Loc::here());
/// The eigenvalues of Hermitian A, ascending: [.., n].
Array eigvalsh(const Array& a, const EighOptions& options = {}, Loc loc = Loc::here());

/// What `eig` gives.
struct EigResult {
  Array eigenvalues;   ///< [.., n], complex, in no order
  Array eigenvectors;  ///< [.., n, n], complex: column i belongs to eigenvalue i
};
/// Eigenvalues and eigenvectors of any square A; complex ones of real matrices, too. Each vector has length 1
/// and a largest component that is real, as LAPACK's, and its derivative keeps it so. Vectors of equal
/// eigenvalues have no derivative (it is infinite or NaN), nor have the eigenvalues where A has not n
/// independent vectors. NaN where A is not finite.
EigResult eig(const Array& a, Loc loc = Loc::here());
/// The eigenvalues of any square A: complex, [.., n], in no order.
Array eigvals(const Array& a, Loc loc = Loc::here());

/// Options of `schur`.
struct SchurOptions {
  bool complex = false;  ///< T of a real A is triangular and complex, too
};
/// What `schur` gives.
struct SchurResult {
  Array t;  ///< [.., n, n], upper triangular; of real A with blocks of 2 × 2 for pairs of eigenvalues
  Array z;  ///< [.., n, n], unitary
};
/// A = Z·T·Zᴴ of any square A. NaN where A is not finite. There is no derivative: the factors are not unique.
SchurResult schur(const Array& a, const SchurOptions& options = {}, Loc loc = Loc::here());

/// What `hessenberg` gives.
struct HessenbergResult {
  Array h;  ///< [.., n, n], zeros below the first diagonal under the main one
  Array q;  ///< [.., n, n], unitary
};
/// A = Q·H·Qᴴ of any square A. NaN where A is not finite. There is no derivative.
HessenbergResult hessenberg(const Array& a, Loc loc = Loc::here());

/// X with A·X + X·B = C: A is [.., m, m], B [.., n, n], C [.., m, n]; leading axes broadcast. NaN where an
/// eigenvalue of A is one of -B. (Bartels and Stewart 1972)
Array solve_sylvester(const Array& a, const Array& b, const Array& c, Loc loc = Loc::here());
/// The principal root of square A, X with X·X = A: complex, [.., n, n]. Eigenvalues of X have real parts that
/// are not negative. Infinite or NaN where there is none. (Björck and Hammarling 1983) Its derivative solves
/// Sylvester's equation; it is NaN where A is singular.
Array sqrtm(const Array& a, Loc loc = Loc::here());

/// Options of `svd`.
struct SVDOptions {
  bool full_matrices = true;  ///< U is m × m and Vᴴ n × n; otherwise m × k and k × n
};
/// What `svd` gives.
struct SVDResult {
  Array u;   ///< [.., m, k], orthonormal columns
  Array s;   ///< [.., k], k = min(m, n), descending, real
  Array vh;  ///< [.., k, n], orthonormal rows: Vᴴ
};
/// A = U·diag(s)·Vᴴ of any m × n matrix. As NumPy's, all of U and V without options; these have no derivative
/// unless m = n: ask for `{.full_matrices = false}`. Vectors of equal singular values, or of zero ones beyond
/// one side, have none: it is infinite or NaN. NaN where A is not finite.
SVDResult svd(const Array& a, const SVDOptions& options = {}, Loc loc = Loc::here());
/// The singular values, descending: [.., min(m, n)].
Array svdvals(const Array& a, Loc loc = Loc::here());

/// Solves T·X = B with T of three diagonals: `lower`, `diagonal`, `upper` are [.., n], where lower[0] and
/// upper[n - 1] do not count, and B is [.., n, k]; leading axes broadcast. Rows are exchanged where that is
/// more exact. NaN where T is singular. (jax.lax.linalg.tridiagonal_solve)
Array tridiagonal_solve(const Array& lower, const Array& diagonal, const Array& upper, const Array& b,
                        Loc loc = Loc::here());

/// How many diagonals a banded matrix has below and above its main one.
struct Bandwidths {
  std::int64_t lower = 0, upper = 0;
};
/// x with A·x = b for banded A. `ab` [.., upper + 1 + lower, n] are its diagonals, the uppermost first: A[i,
/// j] is ab[upper + i - j, j]; what lies outside of A does not count. b is [n] or [.., n, k]; leading axes
/// broadcast. Rows are exchanged where that is more exact. NaN where A is singular.
/// (scipy.linalg.solve_banded)
Array solve_banded(const Bandwidths& widths, const Array& ab, const Array& b, Loc loc = Loc::here());

}  // namespace apsis::linalg
