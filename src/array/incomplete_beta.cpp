// The incomplete beta function. With D = xᵃ (1 - x)ᵇ / (a B(a, b)) and z = x / (1 - x),
//   I(a, b, x) = D (1 + (a + b) z ∫ exp(-(a + 1) s) (1 + z (1 - e⁻ˢ))ᵇ⁻¹ ds)
// over s from 0 to ∞ (DLMF 8.17 with a substitution). For x below the mean a / (a + b) the integrand falls
// off in one scale, so that one Gauss rule serves all parameters; above, I(a, b, x) = 1 - I(b, a, 1 - x).

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

/// I(p, q, u), v = 1 - u; the logarithms of u and v are exact where these are near 1.
using Point = std::tuple<Array, Array, Array, Array, Array, Array>;  // p, q, u, v, log u, log v

/// ∂ log D / ∂p and ∂ log D / ∂q, for large parameters without cancellation.
std::pair<Array, Array> log_slopes(const Array& p, const Array& q, const Array& log_u, const Array& log_v) {
  const Array sum = p + q;
  const auto slope = [&](const Array& of, const Array& log_x, const Array& added) {
    const Array far = of >= 20, big = where(far, of, 20.), total = where(far, sum, 20.);
    const Array large = (log_x - log(big / total)) - (digamma_tail(big) + added / big) + digamma_tail(total);
    const Array small = where(far, 1., of);
    return where(far, large, (log_x - digamma(small + added)) + digamma(where(far, 1., sum)));
  };
  return {slope(p, log_u, ones_like(p)), slope(q, log_v, zeros_like(q))};
}

/// D = uᵖ vᑫ / (p B(p, q)).
Array density_value(const Array& p, const Array& q, const Array& u, const Array& v, const Array& log_u,
                    const Array& log_v) {
  const Array big_p = p >= 20, big_q = q >= 20, both = big_p && big_q, neither = !big_p && !big_q;
  // Both large: Stirling's series around the mean.
  const Array a = where(both, p, 20.), b = where(both, q, 20.), x = where(both, u, 0.5),
              y = where(both, v, 0.5), off = x * b - y * a, s = a + b;
  // Far below the mean the difference has lost what u is: there the logarithm is its own.
  const Array mu = off / a, low = mu < -0.5;
  const Array remainder =
      where(low, mu - (where(low, log_u, 0.) + log(s / a)), log1p_remainder(where(low, 0., mu)));
  const Array large =
      exp(stirling(s) - stirling(a) - stirling(b) - a * remainder - b * log1p_remainder(-off / b)) *
      sqrt(b / (2 * std::numbers::pi * a * s));
  // One large: Γ(m + n) / (Γ(n) nᵐ) by Stirling's series.
  const Array one = !both && !neither;
  const Array n = where(one, where(big_p, p, q), 20.), m = where(one, where(big_p, q, p), 1.);
  const Array of_m = where(one, where(big_p, v, u), 0.5), log_n = where(one, where(big_p, log_u, log_v), -1.);
  const Array mixed = pow(minimum(of_m * n, 1e15), m) / gamma(m + 1.) *
                      exp((m + n - 0.5) * log1p(m / n) - m + stirling(m + n) - stirling(n) + n * log_n) *
                      where(big_p, m / n, 1.);
  const Array c = where(neither, p, 1.), d = where(neither, q, 1.);
  const Array small = pow(where(neither, u, 0.5), c) * pow(where(neither, v, 0.5), d) * d *
                      (gamma(c + d) / (gamma(c + 1.) * gamma(d + 1.)));
  return where(both, large, where(neither, small, mixed));
}
Array density(const Point& point) {
  return custom_jvp([](const Array& p, const Array& q, const Array& u, const Array& v, const Array& log_u,
                       const Array& log_v) { return density_value(p, q, u, v, log_u, log_v); },
                    [](const Point& at, const Point& along) {
                      const auto& [p, q, u, v, log_u, log_v] = at;
                      const auto& [dp, dq, du, dv, dlog_u, dlog_v] = along;
                      const Array d = density(at);
                      const auto [by_p, by_q] = log_slopes(p, q, log_u, log_v);
                      return std::pair{d, d * (dp * by_p + dq * by_q + p * dlog_u + q * dlog_v)};
                    })(std::get<0>(point), std::get<1>(point), std::get<2>(point), std::get<3>(point),
                       std::get<4>(point), std::get<5>(point));
}

/// z times the integral and its derivatives by p and q.
struct Integral {
  Array value, by_p, by_q;
};
Integral integral(const Array& p, const Array& q, const Array& z, const Array& log_v) {
  const Array more = where(q > 1, q - 1., 0.), a = p + 1., k = a - more * z;
  // log(1 + z (1 - e⁻ˢ)) ≤ z s - 0.6 z (1 + z) s²/2 up to s (1 + z) = 1, and ≤ -log v.
  const Array near = 76. / (k + sqrt(k * k + 76. * 0.6 * more * z * (1. + z) + 1e-300));
  const Array far = (38. - more * log_v) / a;
  const Array range = where(k + near > 0 && near * (1. + z) < 1 && near < far, near, far);
  const Array length = expand_dims(stop_gradient(range), -1);
  const Array s = length * array(std::span<const double>(gauss_legendre::nodes), {36});
  // (q - 1) log(1 + w) - (p + 1) s for w = z (1 - e⁻ˢ), without the large terms that cancel
  const Array factor = expand_dims(z, -1), bend = exp_remainder(-s), w = factor * (s - bend);
  const Array curved = factor * bend + log1p_remainder(w);
  const Array terms = exp(expand_dims((q - 1.) * z - a, -1) * s - expand_dims(q - 1., -1) * curved) *
                      (length * array(std::span<const double>(gauss_legendre::weights), {36}));
  const auto added = [&](const Array& x) { return z * sum(x, {.axis = -1}); };
  return {added(terms), -added(terms * s), added(terms * log1p(w))};
}

/// Where I(b, a, y) is computed, y = 1 - x. Where a parameter is below 1, the integrand of the other way is
/// singular near 0.
Array is_swapped(const Array& a, const Array& b, const Array& x, const Array& y) {
  const Array past = x * (a + b) > a;
  return where(x < 0.5, past && (a >= 1 || x * b >= 3), past || (b < 1 && y * a < 3));
}

Point point_of(const Array& a, const Array& b, const Array& x, const Array& y, const Array& swapped) {
  // Each logarithm of the smaller one of x and y, which has the digits.
  const Array left = x < 0.5, low = where(left, x, y), log_low = log(low), log_high = log1p(-low);
  const Array log_x = where(left, log_low, log_high), log_y = where(left, log_high, log_low);
  return {where(swapped, b, a), where(swapped, a, b),         where(swapped, y, x),
          where(swapped, x, y), where(swapped, log_y, log_x), where(swapped, log_x, log_y)};
}

/// ∂I/∂a and ∂I/∂b as multiples of x y ∂I/∂x = p D, and that.
struct Slopes {
  Array by_a, by_b, unit;
};
/// For a, b > 0, 0 < x < 1.
Slopes slopes(const Array& a, const Array& b, const Array& x, const Array& y) {
  const Array swapped = is_swapped(a, b, x, y);
  const Point point = point_of(a, b, x, y, swapped);
  const auto& [p, q, u, v, log_u, log_v] = point;
  const Array sum = p + q;
  const Integral k = integral(p, q, u / v, log_v);
  const auto [log_p, log_q] = log_slopes(p, q, log_u, log_v);
  const Array whole = 1. + sum * k.value;
  const Array by_p = (log_p * whole + k.value + sum * k.by_p) / p,
              by_q = (log_q * whole + k.value + sum * k.by_q) / p;
  return {where(swapped, -by_q, by_p), where(swapped, -by_p, by_q), p * density(point)};
}

/// I for a, b > 0, 0 < x < 1.
Array value_inside(const Array& a, const Array& b, const Array& x, const Array& y) {
  const Array swapped = is_swapped(a, b, x, y);
  const auto [p, q, u, v, log_u, log_v] = point_of(a, b, x, y, swapped);
  const Array lower =
      density_value(p, q, u, v, log_u, log_v) * (1. + (p + q) * integral(p, q, u / v, log_v).value);
  return where(swapped, 1. - lower, lower);
}

using Three = std::tuple<Array, Array, Array>;

Array is_plain(const Array& a, const Array& b, const Array& x) {
  return a > 0 && b > 0 && isfinite(a) && isfinite(b) && x > 0 && x < 1;
}

Array betainc_value(const Array& a, const Array& b, const Array& x) {
  const Array plain = is_plain(a, b, x);
  const Array safe_a = where(plain, a, 1.), safe_b = where(plain, b, 1.), safe_x = where(plain, x, 0.5);
  const Array inside = value_inside(safe_a, safe_b, safe_x, 1. - safe_x);
  const Array edge = a > 0 && b > 0 && isfinite(a) && isfinite(b) && (x == 0 || x == 1);
  return where(plain, inside, where(edge, x, NAN));
}

Array betainc_of(const Array& a, const Array& b, const Array& x) {
  return custom_jvp(betainc_value, [](const Three& at, const Three& along) {
    const auto& [p, q, y] = at;
    const auto& [dp, dq, dy] = along;
    const Array plain = is_plain(p, q, y);
    const Array inside = where(plain, y, 0.5), rest = 1. - inside;
    const Slopes s = slopes(where(plain, p, 1.), where(plain, q, 1.), inside, rest);
    const auto end = [](const Array& near, const Array& other) {
      return where(near == 1, other, where(near > 1, 0., INFINITY));
    };
    const Array by_x = where(plain, s.unit / (inside * rest), where(y == 0, end(p, q), end(q, p)));
    const Array unit = where(plain, s.unit, 0.);
    return std::pair{betainc_of(p, q, y), dp * (unit * s.by_a) + dq * (unit * s.by_b) + dy * by_x};
  })(a, b, x);
}

}  // namespace

Array detail::incomplete_beta(const Array& a, const Array& b, const Array& x, const Array& y) {
  return value_inside(a, b, x, y);
}
Array detail::beta_slope(const Array& a, const Array& b, const Array& x, const Array& y) {
  const Point point = point_of(a, b, x, y, is_swapped(a, b, x, y));
  return std::get<0>(point) * density(point);
}
std::pair<Array, Array> detail::log_odds_quantile_slopes(const Array& a, const Array& b, const Array& x,
                                                         const Array& y) {
  const Slopes s = slopes(a, b, x, y);
  return {-s.by_a, -s.by_b};
}

Array betainc(const Array& a, const Array& b, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("betainc", {a, b, x}, [](const auto& v) { return betainc_of(v[0], v[1], v[2]); });
}

}  // namespace apsis::special
