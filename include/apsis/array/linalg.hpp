#pragma once

// Linear algebra composed of the decompositions (apsis/ops/decomposition.hpp), with the names of numpy.linalg
// and scipy.linalg. Matrices are the last two axes of an array; leading axes broadcast. Integers become
// floating. Of complex matrices aᴴ is the conjugate transpose; of real ones it is aᵀ.

#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "apsis/array/product.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis::linalg {

using apsis::cross;
using apsis::matmul;
using apsis::matrix_transpose;
using apsis::outer;
using apsis::tensordot;
using apsis::vecdot;

/// The sum of a diagonal of the last two axes. (apsis::trace takes the first two.)
Array trace(const Array& x, int offset = 0, Loc loc = Loc::here());
/// A diagonal of the last two axes. (apsis::diagonal takes the first two.)
Array diagonal(const Array& x, int offset = 0, Loc loc = Loc::here());

// Solves. A right side b of one axis is a vector, others are matrices [.., n, k]. Derivatives are those of
// the equation: they solve with the same factors again. What is singular gives infinite numbers or NaN.

/// x with a·x = b for square a, by lu_factor.
Array solve(const Array& a, const Array& b, Loc loc = Loc::here());
/// a⁻¹: `solve(a, b)` is faster and more exact than `inv(a)` times b.
Array inv(const Array& a, Loc loc = Loc::here());
/// x with Σ a[.., j…]·x[j…] = b, the sum over as many last axes of a as b leaves: a is [b.shape, x.shape].
/// `axes` of a are moved behind the others first.
Array tensorsolve(const Array& a, const Array& b, const Dims& axes = {}, Loc loc = Loc::here());
/// The inverse of a as a map from its axes from `ind` on to those before.
Array tensorinv(const Array& a, int ind = 2, Loc loc = Loc::here());

/// What `lu` gives: A = P·L·U.
struct LUResult {
  Array p;  ///< [.., m, m], a permutation, of real numbers
  Array l;  ///< [.., m, k], 1 on the diagonal, k = min(m, n)
  Array u;  ///< [.., k, n]
};
/// The matrices of `lu_factor`. (scipy.linalg.lu)
LUResult lu(const Array& a, Loc loc = Loc::here());
/// x with a·x = b, or aᵀ·x = b, by the factors of a.
Array lu_solve(const LUFactors& factors, const Array& b, bool transpose = false, Loc loc = Loc::here());

/// What `cho_factor` gives.
struct ChoFactor {
  Array c;     ///< the triangular factor, zeros in the other half
  bool lower;  ///< L with L·Lᴴ = A; otherwise U with Uᴴ·U = A
};
/// Options of `cho_factor`.
struct ChoFactorOptions {
  bool lower = false;  ///< the triangle of A that is read, and of the factor
};
/// The factor of a Hermitian positive definite matrix, for `cho_solve`; one triangle is read. NaN where A is
/// not positive definite.
ChoFactor cho_factor(const Array& a, const ChoFactorOptions& options = {}, Loc loc = Loc::here());
/// x with a·x = b by the factor of a.
Array cho_solve(const ChoFactor& factor, const Array& b, Loc loc = Loc::here());

/// Options of `solve_triangular`.
struct SolveTriangularOptions {
  bool transpose = false;      ///< solves aᵀ·x = b
  bool lower = false;          ///< the triangle of a that is read
  bool unit_diagonal = false;  ///< the diagonal is not read: it is 1
  bool conjugate = false;      ///< a is conjugated: solves aᴴ·x = b with `transpose`
};
/// x with a·x = b for triangular a. (scipy.linalg.solve_triangular)
Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& options = {},
                       Loc loc = Loc::here());

/// Options of `lstsq` and `pinv`.
struct RankOptions {
  /// Singular values up to rtol times the largest count as zero; negative: ε·max(m, n) in `lstsq`, ten times
  /// that in `pinv`.
  double rtol = -1;
};
/// What `lstsq` gives.
struct LstsqResult {
  Array x;          ///< [.., n, k], or [n]
  Array residuals;  ///< [.., k]: |b - a·x|² of each column
  Array rank;       ///< i64[..]
  Array s;          ///< [.., min(m, n)]: the singular values of a
};
/// The shortest of all x that make |b - a·x| least, for a of any shape and rank, by the singular values. The
/// derivative of x (Golub and Pereyra 1973) is finite where the rank does not change nearby.
LstsqResult lstsq(const Array& a, const Array& b, const RankOptions& options = {}, Loc loc = Loc::here());
/// The Moore-Penrose inverse [.., n, m], derivatives as of `lstsq`.
Array pinv(const Array& a, const RankOptions& options = {}, Loc loc = Loc::here());

// Numbers of matrices.

/// The determinant of square a; its derivative is right for singular a, too, while the rank is n - 1 or more.
Array det(const Array& a, Loc loc = Loc::here());
/// What `slogdet` gives: the determinant is sign·exp(logabsdet).
struct SlogdetResult {
  Array sign;       ///< -1, 0 or 1; of complex matrices 0 or of size 1
  Array logabsdet;  ///< -∞ where a is singular
};
/// Sign and logarithm of the determinant, which does not overflow. Of complex matrices the sign has a
/// derivative, too.
SlogdetResult slogdet(const Array& a, Loc loc = Loc::here());

/// Which norm: a number, or for matrices `fro` or `nuc`.
struct NormOrder {
  enum class Kind : std::uint8_t { Number, Frobenius, Nuclear };
  Kind kind = Kind::Number;
  double number = 2;
  constexpr NormOrder(double order) : number(order) {}
  explicit constexpr NormOrder(Kind k) : kind(k) {}
  friend bool operator==(const NormOrder&, const NormOrder&) = default;
};
inline constexpr NormOrder fro{NormOrder::Kind::Frobenius};  ///< The root of the sum of squares.
inline constexpr NormOrder nuc{NormOrder::Kind::Nuclear};    ///< The sum of the singular values.

/// Options of `vector_norm`.
struct VectorNormOptions {
  NormOrder ord = 2;
  Axes axis = {};
  KeepDims keepdims = false;
};
/// (Σ |x|^ord)^(1/ord); the largest or least |x| for ±∞; how many are not 0 for 0.
Array vector_norm(const Array& x, const VectorNormOptions& options = {}, Loc loc = Loc::here());
/// Options of `matrix_norm`.
struct MatrixNormOptions {
  NormOrder ord = fro;
  KeepDims keepdims = false;
};
/// `fro`, `nuc`; 1 and -1: the largest and the least sum of a column's |x|; ±∞: of a row's; 2 and -2: the
/// largest and the least singular value. Throws for other orders.
Array matrix_norm(const Array& x, const MatrixNormOptions& options = {}, Loc loc = Loc::here());
/// The condition number: norm times norm of the inverse; for 2 and -2 the quotient of the outermost singular
/// values, of matrices that need not be square. ∞ where a is singular. Throws for empty matrices.
Array cond(const Array& x, const NormOrder& ord = 2, Loc loc = Loc::here());
/// How many singular values are above `tol`; negative: above the largest times ε·max(m, n). i64.
Array matrix_rank(const Array& x, double tol = -1, Loc loc = Loc::here());

// Functions of matrices.

/// a·a·…, n times; of the inverse for n < 0; the identity for 0.
Array matrix_power(const Array& a, std::int64_t n, Loc loc = Loc::here());
/// The product of matrices, the first and the last of which may be vectors, in the order of fewest
/// multiplications. Throws for fewer than two.
Array multi_dot(std::span<const Array> arrays, Loc loc = Loc::here());
Array multi_dot(std::initializer_list<Array> arrays, Loc loc = Loc::here());
/// The exponential of square a: Padé's approximant with scaling and squaring (Al-Mohy and Higham, A new
/// scaling and squaring algorithm for the matrix exponential, 2009), of degree 13, in f32 of degree 7.
Array expm(const Array& a, Loc loc = Loc::here());
/// e^a, and its derivative along e (scipy.linalg.expm_frechet): `jvp` of `expm`.
std::pair<Array, Array> expm_frechet(const Array& a, const Array& e, Loc loc = Loc::here());
/// The principal logarithm of square a, whose exponential is a: complex, imaginary parts of its eigenvalues
/// in
/// (-π, π]. NaN where a is singular. By inverse scaling and squaring (Higham, Functions of matrices, 2008,
/// chapter 11); derivatives are those of `sqrtm` and `solve`.
Array logm(const Array& a, Loc loc = Loc::here());

/// Eigenvalues and eigenvectors of the Hermitian matrix with this diagonal [.., n] and that below it [.., n -
/// 1]; leading axes broadcast. (scipy.linalg.eigh_tridiagonal)
EighResult eigh_tridiagonal(const Array& diagonal, const Array& below, Loc loc = Loc::here());

}  // namespace apsis::linalg
namespace apsis::detail {
Array function_of_triangle(const linalg::SchurResult& schur, const Array& values);
}
namespace apsis::linalg {

/// f of square a, where f maps complex numbers elementwise and is analytic at the eigenvalues of a; complex.
/// Of Schur's form, diagonal by diagonal (B. N. Parlett, A recurrence among the elements of functions of
/// triangular matrices, 1976): digits are lost where eigenvalues are close, and a matrix of equal ones must
/// be diagonalizable. Without derivatives, as `schur`. (scipy.linalg.funm)
template <class F>
Array funm(const Array& a, const F& f, Loc loc = Loc::here()) {
  const LocScope place(loc);
  const SchurResult form = schur(a, {.complex = true});
  return detail::function_of_triangle(form, f(linalg::diagonal(form.t)));
}

/// Options of `polar`.
struct PolarOptions {
  bool left = false;  ///< a = p·u; otherwise a = u·p
};
/// What `polar` gives.
struct PolarResult {
  Array u;  ///< [.., m, n], orthonormal columns or rows
  Array p;  ///< [.., n, n], or [.., m, m] with `left`: Hermitian, no negative eigenvalue
};
/// a as a rotation and a stretching, by its singular values; without derivatives where two of these are
/// equal.
PolarResult polar(const Array& a, const PolarOptions& options = {}, Loc loc = Loc::here());

/// Matrices (or vectors as rows) one after the other along the diagonal, zeros elsewhere.
Array block_diag(std::span<const Array> arrays, Loc loc = Loc::here());
Array block_diag(std::initializer_list<Array> arrays, Loc loc = Loc::here());
/// The matrix with constant diagonals whose first column is c and first row r (but for r[0], which does not
/// count); Hermitian without r. Last axes of c and r; the leading ones broadcast.
Array toeplitz(const Array& c, const Array& r = {}, Loc loc = Loc::here());

}  // namespace apsis::linalg
