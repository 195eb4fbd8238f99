// The incomplete gamma function. With D = xᵃ e⁻ˣ / Γ(a + 1),
//   P(a, x) = D (1 + x ∫ exp(x (1 - e⁻ˢ) - (a + 1) s) ds),   Q(a, x) = D a ∫ exp(-x (eˢ - 1) + a s) ds
// over s from 0 to ∞ (DLMF 8.5, 8.6 with substitutions). For x below and above a the integrands are positive,
// entire, and fall off from 0 in one scale, so that one Gauss rule serves all parameters, large ones too, and
// derivatives by a have no cancellation either.

#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/gauss_legendre.hpp"
#include "array/incomplete.hpp"
#include "array/special_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

using Two = std::tuple<Array, Array>;

/// An integral ∫ exp(φ) ds, and ∫ (∂φ/∂a) exp(φ) ds.
struct Integral {
  Array value, by_a;
};

/// Where the fall of φ has reached 38: k s + c s²/2 at least.
Array range_of(const Array& k, const Array& c) { return 76. / (k + sqrt(k * k + 76. * c)); }

/// That of P, or of Q. Exponents are written such that large terms do not cancel.
Integral integral(const Array& a, const Array& x, const Array& range, bool lower) {
  // The range is no variable: the integral over any range that is long enough is the same.
  const Array length = expand_dims(stop_gradient(range), -1);
  const Array s = length * array(std::span<const double>(gauss_legendre::nodes), {36});
  const Array fall = expand_dims(lower ? (a - x) + 1. : x - a, -1);
  const Array terms = exp(-fall * s - expand_dims(x, -1) * exp_remainder(lower ? -s : s)) *
                      (length * array(std::span<const double>(gauss_legendre::weights), {36}));
  return {sum(terms, {.axis = -1}), sum(terms * (lower ? -s : s), {.axis = -1})};
}

/// For x up to a, or small.
Integral lower_integral(const Array& a, const Array& x) {
  const Array big_a = a + 1., k = where(big_a > x, big_a - x, 0.);
  const Array near = range_of(k, 0.6 * x + 1e-3);  // 1 - e⁻ˢ ≤ s - 0.6 s²/2 up to 1.2
  return integral(a, x, where(near < 1.2, near, (38. + x) / big_a), true);
}
/// For x ≥ a, x ≥ 1/2: φ has fallen by x (eˢ - 1 - s) at least.
Integral upper_integral(const Array& a, const Array& x) {
  const Array near = range_of(where(x > a, x - a, 0.), x), far = log(38. / x + 6.);
  return integral(a, x, minimum(near, far), false);
}

/// log x - ψ(a + 1), for large a without cancellation.
Array log_less_digamma(const Array& a, const Array& log_x) {
  const Array far = a >= 20, p = where(far, a, 20.);
  const Array large = (log_x - log(p)) - (digamma_tail(p) + 1. / p);
  return where(far, large, log_x - digamma(where(far, 1., a) + 1.));
}

/// xᵃ e⁻ˣ / Γ(a + 1) for a, x > 0.
Array density_value(const Array& a, const Array& x) {
  const Array far = a >= 20;
  const Array p = where(far, a, 20.), y = where(far, x, 20.);
  // Far below p the difference has lost what y is: there the logarithm is that of the quotient.
  const Array mu = (y - p) / p, low = mu < -0.5;
  const Array remainder = where(low, mu - log(where(low, y, p) / p), log1p_remainder(where(low, 0., mu)));
  const Array by_remainder = exp(-p * remainder);
  // Where no factor of (y / p)ᵖ e^(p - y) over- or underflows they have fewer errors than the large exponent.
  const Array gap = p - y, calm = abs(gap) < 700. && p * abs(log(y / p)) < 700.;
  const Array r = where(calm, y, p), g = where(calm, gap, 0.), half = exp(0.5 * g);
  const Array by_power = half * power_of_quotient(r, p, p) * half * exp(lost_in_sum(p, -r, g));
  const Array large =
      where(calm, by_power, by_remainder) * exp(-stirling(p)) / sqrt(p * (2 * std::numbers::pi));
  const Array q = where(far, 1., a), z = where(far, 1., minimum(x, 2000.)), root = exp(-0.5 * z);
  return where(far, large, pow(z, q) * root / gamma(q + 1.) * root);
}
Array density(const Array& a, const Array& x) {
  return custom_jvp(density_value, [](const Two& at, const Two& along) {
    const auto& [p, y] = at;
    const auto& [dp, dy] = along;
    const Array d = density(p, y);
    return std::pair{d, d * (dp * log_less_digamma(p, log(y)) + dy * (p / y - 1.))};
  })(a, x);
}

/// Where Q is computed, and P = 1 - Q.
Array is_upper(const Array& a, const Array& x) { return x >= a && x >= 0.5; }

/// Q for a, x < 1/2, where it is 1 - xᵃ / Γ(a + 1) and small terms.
Array upper_near_zero(const Array& a, const Array& x) {
  const Array one = a + 1., lost = a - (one - 1.);  // what a lost when 1 was added
  const Array exponent = a * log(x) - (lgamma(one) + digamma(one) * lost);
  Array rest = zeros_like(x), power = ones_like(x);
  for (int n = 1; n <= 15; ++n) {
    power = power * x * (-1. / n);
    rest = rest + power / (a + double(n));
  }
  return -expm1(exponent) - a * exp(exponent) * rest;
}

/// ∂P/∂a, for a, x > 0.
Array slope_by_a(const Array& a, const Array& x) {
  const Array upper = is_upper(a, x), outside = where(upper, 0.25, x), inside = where(upper, x, a + 1.);
  const Integral below = lower_integral(a, outside), above = upper_integral(a, inside);
  const Array log_slope = log_less_digamma(a, log(x));
  const Array of_below = log_slope * (1. + outside * below.value) + outside * below.by_a;
  const Array of_above = (log_slope * a + 1.) * above.value + a * above.by_a;
  return density(a, x) * where(upper, -of_above, of_below);
}

/// P or Q for finite a, x > 0.
Array value_inside(const Array& a, const Array& x, bool lower) {
  const Array upper = is_upper(a, x), outside = where(upper, 0.25, x), inside = where(upper, x, a + 1.);
  const Array d = density_value(a, x);
  const Array below = d * (1. + outside * lower_integral(a, outside).value);
  const Array above = d * a * upper_integral(a, inside).value;
  if (lower) return where(upper, 1. - above, below);
  const Array corner = a < 0.5 && x < 0.5, p = where(corner, a, 0.25), y = where(corner, x, 0.25);
  return where(upper, above, where(corner, upper_near_zero(p, y), 1. - below));
}

/// P or Q with its edges.
Array regularized_value(const Array& a, const Array& x, bool lower) {
  const Array plain = a > 0 && x > 0 && isfinite(a) && isfinite(x);
  const Array value = value_inside(where(plain, a, 1.), where(plain, x, 1.), lower);
  const Array zero = lower ? zeros_like(x) : ones_like(x), one = 1. - zero;
  const Array edge = where(x == 0, where(a > 0, zero, NAN),
                           where(a == INFINITY, where(x == INFINITY, NAN, zero), one));  // a is 0, or x ∞
  return where(plain, value, where(a >= 0 && x >= 0, edge, NAN));
}

// The rules capture nothing: those that do are traced when the function is called, in search of traced
// values.
template <bool lower>
Array regularized(const Array& a, const Array& x) {
  return custom_jvp([](const Array& p, const Array& y) { return regularized_value(p, y, lower); },
                    [](const Two& at, const Two& along) {
                      const auto& [p, y] = at;
                      const auto& [dp, dy] = along;
                      const Array plain = p > 0 && y > 0 && isfinite(p) && isfinite(y);
                      const Array q = where(plain, p, 1.), z = where(plain, y, 1.);
                      const Array at_zero = where(p == 1, 1., where(p > 1, 0., INFINITY));
                      const Array by_x = where(plain, density(q, z) * (q / z), where(y == 0, at_zero, 0.));
                      const Array slope = dp * where(plain, slope_by_a(q, z), 0.) + dy * by_x;
                      return std::pair{regularized<lower>(p, y), lower ? slope : -slope};
                    })(a, x);
}

}  // namespace

Array detail::incomplete_gamma(const Array& a, const Array& x, bool lower) {
  return value_inside(a, x, lower);
}
Array detail::gamma_slope(const Array& a, const Array& x) { return a * density(a, x); }

Array detail::log_gamma_quantile_slope(const Array& a, const Array& log_x) {
  const Array x = exp(log_x), upper = is_upper(a, x);
  const Array outside = where(upper, 0.25, x), inside = where(upper, x, a + 1.);
  const Integral below = lower_integral(a, outside), above = upper_integral(a, inside);
  // -(∂P/∂a) / (x ∂P/∂x), and x ∂P/∂x = a D.
  const Array log_slope = log_less_digamma(a, log_x);
  const Array of_below = log_slope * (1. + outside * below.value) + outside * below.by_a;
  const Array of_above = (log_slope * a + 1.) * above.value + a * above.by_a;
  return where(upper, of_above, -of_below) / a;
}

Array gammainc(const Array& a, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("gammainc", {a, x}, [](const auto& v) { return regularized<true>(v[0], v[1]); });
}

Array gammaincc(const Array& a, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("gammaincc", {a, x}, [](const auto& v) { return regularized<false>(v[0], v[1]); });
}

}  // namespace apsis::special
