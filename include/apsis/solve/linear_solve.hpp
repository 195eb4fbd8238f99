#pragma once

// Linear solves with operators.
//
//   auto sol = linear_solve(a, b);                       // the solver that suits what is known of a
//   auto big = linear_solve(a, b, linear::CG{.rtol = 1e-10}, {.preconditioner = approximate_inverse});

#include "apsis/array/linalg.hpp"
#include "apsis/solve/linear_operator.hpp"

namespace apsis {

/// Solvers of `linear_solve`.
namespace linear {

/// What suits the operator: Diagonal, Banded (sparse ones, too, that are narrow then), SparseLU, Triangular,
/// Cholesky for positive definite ones (CG, where they are not written out), LU; QR where there are more rows
/// than columns, SVD where there are fewer.
struct Auto {};
/// Divides.
struct Diagonal {};
/// Gaussian elimination with exchanges of rows, of banded operators, tridiagonal ones among them; and of
/// sparse ones, whose rows and columns are put in the order of Cuthill and McKee (1969) where that makes
/// narrower bands.
struct Banded {};
/// Substitution; the operator says by its tags which half it is.
struct Triangular {};
/// Of any square operator.
struct LU {};
/// Of positive definite ones.
struct Cholesky {};
/// The least |a·x - b| of operators of full rank with at least as many rows as columns.
struct QR {};
/// The shortest of all x with the least |a·x - b|, of any operator.
struct SVD {
  double rtol = -1;  ///< as of linalg::lstsq
};

/// Of square sparse operators: SuiteSparse's KLU (Davis and Palamadai Natarajan 2010), whose analysis of a
/// pattern is kept with it. By the host, in f64, also in compiled functions. Throws where Apsis was built
/// without it.
struct SparseLU {};

/// Conjugate gradients of symmetric positive definite operators (Hestenes and Stiefel 1952).
struct CG {
  double rtol = 1e-8, atol = 0;  ///< a solution is where |a·x - b| is within atol + rtol |b|; 0 or more
  std::int64_t max_steps = 10000;
};
/// The same of the normal equations: the least |a·x - b| of operators of full column rank.
struct NormalCG {
  double rtol = 1e-8, atol = 0;  ///< the same of the normal equations
  std::int64_t max_steps = 10000;
};
/// The same by bidiagonalisation, whose condition is not squared (Fong and Saunders 2011): |aᵀ·(a·x - b)|
/// falls with every step. Of columns that depend on each other the shortest x; then its derivatives are of
/// no use.
struct LSMR {
  double rtol = 1e-8, atol = 0;  ///< of the normal equations, as of NormalCG
  std::int64_t max_steps = 10000;
};
/// Stabilised biconjugate gradients of square operators (van der Vorst 1992).
struct BiCGStab {
  double rtol = 1e-8, atol = 0;  ///< as of CG
  std::int64_t max_steps = 10000;
};
/// Generalised minimal residuals of square operators (Saad and Schultz 1986), restarted.
struct GMRES {
  double rtol = 1e-8, atol = 0;   ///< as of CG
  std::int64_t restart = 20;      ///< vectors that are kept; 1 or more
  std::int64_t max_steps = 1000;  ///< restarts
};

}  // namespace linear

/// Options of `linear_solve`.
struct LinearOptions {
  /// Near the operator's inverse, for CG, BiCGStab and GMRES; of CG positive definite.
  LinearOperator preconditioner = {};
  /// Whether an iteration that does not reach its tolerance, or a solution that is not finite, throws when it
  /// runs.
  bool throw_ = true;
};

/// What `linear_solve` returns.
struct LinearSolution {
  Array value;     ///< [columns]
  Array residual;  ///< |a·value - b|; of iterations on the normal equations theirs
  Array result;    ///< i64: 0 is success, 1 a tolerance that was not reached or a solution that is not finite
};

namespace detail {
struct LinearMethod {
  enum class Kind : std::uint8_t {
    Auto,
    Diagonal,
    Banded,
    Triangular,
    LU,
    Cholesky,
    QR,
    SVD,
    SparseLU,
    CG,
    NormalCG,
    BiCGStab,
    GMRES,
    LSMR
  };
  Kind kind;
  double rtol = 0, atol = 0;
  std::int64_t max_steps = 0, restart = 0;
};
inline LinearMethod method_of(const linear::Auto&) { return {LinearMethod::Kind::Auto}; }
inline LinearMethod method_of(const linear::Diagonal&) { return {LinearMethod::Kind::Diagonal}; }
inline LinearMethod method_of(const linear::Banded&) { return {LinearMethod::Kind::Banded}; }
inline LinearMethod method_of(const linear::Triangular&) { return {LinearMethod::Kind::Triangular}; }
inline LinearMethod method_of(const linear::LU&) { return {LinearMethod::Kind::LU}; }
inline LinearMethod method_of(const linear::Cholesky&) { return {LinearMethod::Kind::Cholesky}; }
inline LinearMethod method_of(const linear::QR&) { return {LinearMethod::Kind::QR}; }
inline LinearMethod method_of(const linear::SVD& s) { return {LinearMethod::Kind::SVD, s.rtol}; }
inline LinearMethod method_of(const linear::SparseLU&) { return {LinearMethod::Kind::SparseLU}; }
inline LinearMethod method_of(const linear::CG& s) {
  return {LinearMethod::Kind::CG, s.rtol, s.atol, s.max_steps};
}
inline LinearMethod method_of(const linear::NormalCG& s) {
  return {LinearMethod::Kind::NormalCG, s.rtol, s.atol, s.max_steps};
}
inline LinearMethod method_of(const linear::BiCGStab& s) {
  return {LinearMethod::Kind::BiCGStab, s.rtol, s.atol, s.max_steps};
}
inline LinearMethod method_of(const linear::GMRES& s) {
  return {LinearMethod::Kind::GMRES, s.rtol, s.atol, s.max_steps, s.restart};
}
inline LinearMethod method_of(const linear::LSMR& s) {
  return {LinearMethod::Kind::LSMR, s.rtol, s.atol, s.max_steps};
}
/// Whether there is SparseLU; refuses it, naming its place, where it is not `there`.
bool has_sparse_lu();
void require_sparse_lu(bool there, Loc loc);
LinearSolution linear_solve_by(const LinearOperator& a, const Array& b, const LinearMethod& method,
                               const LinearOptions& options, Loc loc);
}  // namespace detail

/// x with a·x = b, b a vector [rows], by the solver `method`; least squares where a is not square. Of several
/// right-hand sides, the columns of b [rows, k], the value is [columns, k], residual and result are [k].
/// Derivatives of every order are those of the equation, one solve with a, or its transpose, each. Throws
/// where sizes do not fit or the solver does not suit the operator; and where a solve fails.
template <class Method = linear::Auto>
LinearSolution linear_solve(const LinearOperator& a, const Array& b, const Method& method = {},
                            const LinearOptions& options = {}, Loc loc = Loc::here()) {
  return detail::linear_solve_by(a, b, detail::method_of(method), options, loc);
}

/// Sign and logarithm of the determinant of a square operator: by the diagonal of diagonal and triangular
/// ones, by Cholesky's decomposition of positive definite ones, of others written out. Throws where it is not
/// square.
linalg::SlogdetResult slogdet(const LinearOperator& a, Loc loc = Loc::here());

}  // namespace apsis
