// Transformations of Box and Cox, and the functions of robust fits.

#include <cmath>

#include "apsis/array/special.hpp"
#include "apsis/ops/logic.hpp"
#include "array/special_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

/// (eᶻ - 1) / z for |z| < 1/2.
Array exp_ratio(const Array& z) {
  double terms[18] = {1};
  for (int k = 1; k < 18; ++k) terms[k] = terms[k - 1] / (k + 1);
  return polynomial(terms, z);
}

/// log(1 + z) / z for |z| < 1/2.
Array log_ratio(const Array& z) {
  double terms[20];
  for (int k = 0; k < 20; ++k) terms[k] = 1. / (2 * k + 1);
  const Array r = z / (z + 2.);
  return (2. / (z + 2.)) * polynomial(terms, r * r);
}

/// ((1 + δ) x)^λ, less 1, by λ, for x ≥ 0; its logarithm is `log_of`(where, otherwise). Near λ log x = 0 by a
/// series, so that it has derivatives at λ = 0.
template <class F>
Array power_less_one(const Array& x, const Array& rounding, const Array& lambda, const F& log_of) {
  const Array near = abs(lambda * log_of(ones_like(x) > 0)) < 0.5, small = log_of(near);
  const Array series = small * exp_ratio(where(near, lambda * small, 0.));
  const Array base = where(near, 1., x), power = where(lambda == 0, 1., lambda);
  const Array far = (pow(base, power) * (1. + where(near, 0., power * rounding)) - 1.) / power;
  return where(near, series, where(lambda == 0, log_of(!near), far));
}

/// The logarithm of what has the transform y: y log(1 + λ y) / (λ y).
Array inverse_logarithm(const Array& y, const Array& lambda) {
  const Array z = lambda * y, near = abs(z) < 0.5;
  const Array series = where(near, y, 0.) * log_ratio(where(near, z, 0.));
  const Array far = log1p(where(near, 0., z)) / where(lambda == 0, 1., lambda);
  return where(near, series, where(lambda == 0, y, far));
}

}  // namespace

Array boxcox(const Array& x, const Array& lambda, Loc loc) {
  const LocScope place(loc);
  return in_f64("boxcox", {x, lambda}, [](const auto& v) {
    const Array inside = !(v[0] < 0), p = where(inside, v[0], 1.);
    const auto log_of = [&](const Array& wanted) { return log(where(wanted, p, 1.)); };
    return where(inside, power_less_one(p, zeros_like(p), v[1], log_of), NAN);
  });
}

Array boxcox1p(const Array& x, const Array& lambda, Loc loc) {
  const LocScope place(loc);
  return in_f64("boxcox1p", {x, lambda}, [](const auto& v) {
    const Array inside = !(v[0] < -1), p = where(inside, v[0], 0.), sum = 1. + p;
    // What 1 + x lost when it was rounded (Knuth, TAOCP 4.2.2, theorem B).
    const Array added = sum - 1., lost = (1. - (sum - added)) + (p - added);
    const Array rounding = where(isfinite(lost) && sum > 0, lost, 0.) / where(sum > 0, sum, 1.);
    const auto log_of = [&](const Array& wanted) { return log1p(where(wanted, p, 0.)); };
    return where(inside, power_less_one(sum, rounding, v[1], log_of), NAN);
  });
}

Array inv_boxcox(const Array& y, const Array& lambda, Loc loc) {
  const LocScope place(loc);
  return in_f64("inv_boxcox", {y, lambda}, [](const auto& v) { return exp(inverse_logarithm(v[0], v[1])); });
}

Array inv_boxcox1p(const Array& y, const Array& lambda, Loc loc) {
  const LocScope place(loc);
  return in_f64("inv_boxcox1p", {y, lambda},
                [](const auto& v) { return expm1(inverse_logarithm(v[0], v[1])); });
}

Array log_expit(const Array& x, Loc loc) {
  const LocScope place(loc);
  return widened("log_expit", x, [](const Array& v) { return -logaddexp(-v, 0.); });
}

Array huber(const Array& delta, const Array& r, Loc loc) {
  const LocScope place(loc);
  return widened("huber", delta, r, [](const Array& d, const Array& x) {
    const Array size = abs(x), inner = size <= d, z = where(inner, x, 0.);
    return where(d < 0, INFINITY, where(inner, 0.5 * (z * z), d * (size - 0.5 * d)));
  });
}

Array pseudo_huber(const Array& delta, const Array& r, Loc loc) {
  const LocScope place(loc);
  return widened("pseudo_huber", delta, r, [](const Array& d, const Array& x) {
    const Array plain = !(d <= 0), p = where(plain, d, 1.), z = where(isinf(x), 0., x);
    const Array value = z * (z * where(isinf(p), 0.5, p / (p + hypot(p, z))));
    return where(plain, where(isinf(x), p * INFINITY, value), where(d == 0, 0., INFINITY));
  });
}

}  // namespace apsis::special
