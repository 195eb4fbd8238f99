// Least squares and pseudoinverses, by singular values.

#include <tuple>
#include <utility>

#include "apsis/array/creation.hpp"
#include "apsis/array/dtype.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "array/linalg_support.hpp"

namespace apsis::linalg {
using namespace detail::arrays;
namespace {

using Pair = std::pair<Array, Array>;

/// Which singular values are not taken for zero.
Array counting(const Array& s, double rtol) {
  const Array positive = s > 0;
  return s.dim(-1) == 0 ? positive : positive && s > part(s, s.ndim() - 1, 0, 1) * rtol;
}

/// A⁺ = V·diag(1/s)·Uᴴ over the singular values that count.
struct Inverse {
  Array u, s, vh, kept;
  Inverse(const Array& a, double rtol) {
    const SVDResult f = svd(a, {.full_matrices = false});
    u = f.u, s = f.s, vh = f.vh;
    kept = counting(s, rtol);
  }
  /// 1/s, 0 for those that do not count.
  Array reciprocals() const { return where(kept, 1. / where(kept, s, ones_like(s)), zeros_like(s)); }
  Array times(const Array& b) const {
    return matmul(adjoint(vh), expand_dims(reciprocals(), -1) * matmul(adjoint(u), b));
  }
  Array adjoint_times(const Array& b) const {
    return matmul(u, expand_dims(reciprocals(), -1) * matmul(vh, b));
  }
};

double bound(const Array& a, const RankOptions& options, double factor) {
  const double sides = static_cast<double>(std::max(a.dim(-1), a.dim(-2)));
  return options.rtol >= 0 ? options.rtol : factor * sides * finfo(real_dtype(a.dtype())).eps;
}

// With r = b - A·x: dx = A⁺ (db - dA·x) + A⁺ A⁺ᴴ dAᴴ r + (1 - A⁺ A) dAᴴ A⁺ᴴ x (G. H. Golub and V. Pereyra,
// The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate, 1973,
// equation 4.12 times b). A tangent that is zero is empty.
Pair derivative(const Array& a, const Array& b, const Array& da, const Array& db, double rtol) {
  const Inverse inverse(a, rtol);
  const Array x = inverse.times(b);
  if (da.is_empty()) return {x, db.is_empty() ? Array() : inverse.times(db)};
  const Array turned = adjoint(da), across = matmul(turned, inverse.adjoint_times(x));
  const Array moved = matmul(da, x);
  const Array dx = inverse.times(db.is_empty() ? -moved : db - moved) +
                   inverse.times(inverse.adjoint_times(matmul(turned, b - matmul(a, x)))) +
                   (across - inverse.times(matmul(a, across)));
  return {x, dx};
}

Array least_squares(const Array& a, const Array& b, double rtol, Loc loc) {
  return custom_jvp([rtol](const Array& m, const Array& y) { return Inverse(m, rtol).times(y); },
                    [rtol](const std::tuple<Array, Array>& at, const std::tuple<Array, Array>& along) {
                      return derivative(std::get<0>(at), std::get<1>(at), std::get<0>(along),
                                        std::get<1>(along), rtol);
                    },
                    symbolic_zeros, loc)(a, b);
}

}  // namespace

LstsqResult lstsq(const Array& a, const Array& b, const RankOptions& options, Loc loc) {
  const LocScope place(loc);
  const Equation e = equation("lstsq", a, b);
  const double rtol = bound(e.matrices, options, 1);
  const bool vector = e.right.ndim() == 1;
  const Array columns = vector ? expand_dims(e.right, 1) : e.right;
  const Shape leading = leading_shape("lstsq", e.matrices, columns);
  const Array right = with_leading(columns, leading), left = with_leading(e.matrices, leading);
  const Array x = least_squares(left, right, rtol, loc);
  const Array off = right - matmul(left, x), residuals = sum(real(conj(off) * off), {.axis = -2});
  const Array s = svdvals(e.matrices);
  const Array rank = sum(counting(stop_gradient(s), rtol), {.axis = -1});
  return {vector ? squeeze(x, {-1}) : x, residuals, rank, s};
}

Array pinv(const Array& a, const RankOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array x = matrices("pinv", a);
  const Array rows = eye(x.dim(-2), -1, 0, x.dtype());
  Shape leading = x.shape();
  leading.resize(leading.size() - 2);
  return least_squares(x, with_leading(rows, leading), bound(x, options, 10), loc);
}

}  // namespace apsis::linalg
