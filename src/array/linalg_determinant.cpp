// Determinants.

#include <limits>
#include <tuple>
#include <utility>

#include "apsis/array/creation.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "array/linalg_support.hpp"

namespace apsis::linalg {
using namespace detail::arrays;
namespace {

/// Entry i, j of each matrix.
Array entry_of(const Array& a, int i, int j) { return entry(entry(a, a.ndim() - 1, j), a.ndim() - 2, i); }

/// Σ a·b over the last two axes.
Array sum_of_products(const Array& a, const Array& b) { return sum(a * b, {.axis = {-2, -1}}); }

/// 1, or -1 for an odd number of exchanges of rows.
Array parity(const LUFactors& f) {
  const Array exchanged = f.pivots != arange(f.pivots.dim(-1));
  return astype(1 - 2 * (sum(exchanged, {.axis = -1}) % 2), f.lu.dtype());
}

struct Cofactors {
  Array det, adjugate;
};

// The adjugate det(A)·A⁻¹ without the division by a last pivot that may be zero. With P·A = L·U and D the
// product of all pivots of U but the last: U's last pivot is set to 1/D, and then all rows but the last are
// multiplied with det(A) between the two solves. What has rank n - 2 or less has no adjugate but zero.
Cofactors cofactors(const Array& a) {
  const std::int64_t n = a.dim(-1);
  const LUFactors f = lu_factor(a);
  const Array pivots = linalg::diagonal(f.lu),
              products = cumprod(pivots, {.axis = -1}) * expand_dims(parity(f), -1);
  const Array det = entry(products, products.ndim() - 1, n - 1),
              before = entry(products, products.ndim() - 1, n - 2);
  const Array last = arange(n) == n - 1, corner = expand_dims(last, 1) && last;
  const Array lu = where(corner, expand_dims(expand_dims(1. / before, -1), -1), f.lu);
  const Array probe = triangular_solve(lu, ones_like(part(lu, lu.ndim() - 1, 0, 1)));
  const Array singular = any(!isfinite(probe), {.axis = {-2, -1}, .keepdims = true});
  const Array identity = identity_like(a), kept = where(singular, zeros_like(a), identity);
  const Array rows = take_along_axis(kept, expand_dims(f.permutation, -1), -2);
  const Array half = triangular_solve(lu, rows, {.lower = true, .unit_diagonal = true});
  const Array scaled = where(expand_dims(last, 1), half, half * expand_dims(expand_dims(det, -1), -1));
  return {det, where(singular, zeros_like(a), triangular_solve(lu, scaled))};
}

Array det_by_factors(const Array& a) {
  const LUFactors f = lu_factor(a);
  return prod(linalg::diagonal(f.lu), {.axis = -1}) * parity(f);
}

using Pair = std::pair<Array, Array>;

Pair slogdet_by_factors(const Array& a) {
  const LUFactors f = lu_factor(a);
  const Array pivots = linalg::diagonal(f.lu), singular = any(pivots == 0, {.axis = -1});
  const Array signs = prod(sign(pivots), {.axis = -1}) * parity(f);
  const Array logs = sum(log(abs(where(pivots == 0, ones_like(pivots), pivots))), {.axis = -1});
  return {signs, where(singular, -std::numeric_limits<double>::infinity(), logs)};
}

}  // namespace

Array det(const Array& a, Loc loc) {
  const LocScope place(loc);
  const Array x = square_matrices("det", a);
  const auto at = [&](int i, int j) { return entry_of(x, i, j); };
  switch (x.dim(-1)) {
    case 0:
      return det_by_factors(x);
    case 1:
      return at(0, 0);
    case 2:
      return at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
    case 3:
      return at(0, 0) * at(1, 1) * at(2, 2) + at(0, 1) * at(1, 2) * at(2, 0) +
             at(0, 2) * at(1, 0) * at(2, 1) - at(0, 2) * at(1, 1) * at(2, 0) -
             at(0, 0) * at(1, 2) * at(2, 1) - at(0, 1) * at(1, 0) * at(2, 2);
    default:
      return custom_jvp([](const Array& v) { return det_by_factors(v); },
                        [](const Array& v, const Array& dv) {
                          const Cofactors c = cofactors(v);
                          return Pair{det_by_factors(v), sum_of_products(matrix_transpose(c.adjugate), dv)};
                        },
                        loc)(x);
  }
}

SlogdetResult slogdet(const Array& a, Loc loc) {
  const LocScope place(loc);
  const Array x = square_matrices("slogdet", a);
  if (x.dim(-1) == 1 || x.dim(-1) == 2) {
    const Array d = det(x);
    return {is_complex(d.dtype()) ? sign(d) : stop_gradient(sign(d)), log(abs(d))};
  }
  // The derivative of the logarithm is the transposed inverse; its imaginary part turns the sign.
  const Pair found = custom_jvp([](const Array& v) { return slogdet_by_factors(v); },
                                [](const Array& v, const Array& dv) {
                                  const Pair value = slogdet_by_factors(v);
                                  const Array change = sum_of_products(matrix_transpose(inv(v)), dv);
                                  if (!is_complex(v.dtype()))
                                    return std::pair{value, Pair{zeros_like(value.first), change}};
                                  const Array turn =
                                      value.first * complex(zeros_like(value.second), imag(change));
                                  return std::pair{value, Pair{turn, real(change)}};
                                },
                                loc)(x);
  return {found.first, found.second};
}

}  // namespace apsis::linalg
