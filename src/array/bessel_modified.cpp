// The modified Bessel functions I and K of real order.

#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/logic.hpp"
#include "array/bessel_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

using std::numbers::pi;
using Two = std::tuple<Array, Array>;

constexpr int small_orders = 16;  // for x < 1/2, where the integral takes more points

/// K eˣ by ∫ exp(-x cosh t) cosh vt dt around its largest value (DLMF 10.32.9), x ≥ 1/2 or v ≥ 16.
Array k_integral(const Array& v, const Array& x) {
  constexpr int points = 48;
  const Array peak = asinh(v / x), s = hypot(v, x);
  const Array right = acosh(1. + 40. / s), wide = 40. / maximum(v, 1e-3);
  const Array left = minimum(peak, sqrt(2. * wide) + wide), step = (left + right) / double(points);
  const Array d = expand_dims(step, -1) * steps(points) - expand_dims(left, -1), order = expand_dims(v, -1);
  const Array fall = 2. * expand_dims(s, -1) * square(sinh(0.5 * d)) + order * less_x(d, 1);
  const Array mirrored = exp(-2. * order * (expand_dims(peak, -1) + d));
  const Array sum = trapezoid_sum(exp(-fall) * (0.5 + 0.5 * mirrored), step, points);
  return exp(v * peak - v * (v / (s + x))) * sum;
}

/// K eˣ for x < 1/2, v < 16: upwards from |μ| ≤ 1/2.
Array k_small(const Array& v, const Array& x) {
  const Array whole = round(v), mu = v - whole;
  auto [at, next] = small_k(mu, x);
  for (int k = 1; k <= small_orders; ++k) {
    const Array above = at + (2. * (mu + double(k))) / x * next, on = whole >= double(k);
    at = where(on, next, at);
    next = where(on, above, next);
  }
  return at * exp(x);
}

Array kve_value(const Array& order, const Array& x) {
  const Array v = abs(order), plain = x > 0 && isfinite(x) && isfinite(v);
  const Array small = plain && x < 0.5 && v < double(small_orders);
  const Array large = k_integral(where(plain && !small, v, 1.), where(plain && !small, x, 1.));
  const Array value = where(small, k_small(where(small, v, 1.), where(small, x, 0.25)), large);
  const Array edge = where(x == 0, INFINITY, where(x == INFINITY && isfinite(v), 0., NAN));
  return where(plain, value, where(isnan(v), NAN, edge));
}

/// I e⁻ˣ by its series, v² + x² < 900: all terms are positive.
Array i_series(const Array& v, const Array& x) {
  const Array square = 0.25 * (x * x);
  Array sum = ones_like(x);
  for (int k = 46; k > 0; --k) sum = 1. + sum * (square / (double(k) * (v + double(k))));
  return leading_term(v, x) * exp(-x) * sum;
}

/// I e⁻ˣ by ∫ exp(x cosh w - vw) dw / (2πi) along the path of steepest descent, w = a + iy, sinh a = (v/x) y
/// / sin y: what is integrated is positive.
Array i_integral(const Array& v, const Array& x) {
  constexpr int points = 24;
  const Array s = hypot(v, x), step = 2. * asin(sqrt(minimum(19.5 / s, 1.))) / double(points);
  const Array y = expand_dims(step, -1) * steps(points), order = expand_dims(v, -1), z = expand_dims(x, -1);
  const Array at_zero = y == 0, more = less_x(y, -1) / where(at_zero, 1., sin(y));  // y / sin y - 1
  const Array reach = hypot(z, order * (1. + more)), from = expand_dims(s, -1);
  const Array rise = order * more * (order * (2. + more) / (reach + from));  // x cosh a, less its first value
  const Array angle = log1p((order * more + rise) / (order + from));         // a, less its first value
  const Array sum =
      trapezoid_sum(exp(rise - 2. * reach * square(sin(0.5 * y)) - order * angle), step, points);
  return exp(v * (v / (s + x)) - v * asinh(v / x)) * (sum * std::numbers::inv_pi);
}

/// I e⁻ˣ, v ≥ 0, 0 < x < ∞.
Array i_inside(const Array& v, const Array& x) {
  const Array near = v * v + x * x < 900;
  const Array series = i_series(where(near, v, 1.), where(near, x, 1.));
  return where(near, series, i_integral(where(near, 1., v), where(near, 40., x)));
}

Array ive_value(const Array& order, const Array& x) {
  const Array v = abs(order), z = abs(x), plain = z > 0 && isfinite(z) && isfinite(v);
  const Array u = where(plain, v, 1.), y = where(plain, z, 1.);
  // I₋ᵥ = Iᵥ + (2/π) sin(πv) Kᵥ (DLMF 10.27.2)
  const Array sine = sin_pi(u), mixed = order < 0 && sine != 0;
  const Array second = kve_value(u, where(mixed, y, 1.)) * exp(-2. * where(mixed, y, 1.));
  const Array value = i_inside(u, y) + where(mixed, (2 / pi) * sine * second, 0.);
  const Array at_zero = where(v == 0, 1., where(order > 0 || order == floor(order), 0., INFINITY));
  const Array edge = where(z == 0, at_zero, where(z == INFINITY, 0., NAN));
  return with_parity(where(plain, value, where(isnan(v), NAN, edge)), order, x);
}

Array kve_of(const Array& v, const Array& x);
Array kv_of(const Array& v, const Array& x) {
  return custom_jvp([](const Array& order, const Array& z) { return kve_value(order, z) * exp(-z); },
                    [](const Two& at, const Two& along) {
                      const auto& [order, z] = at;
                      const Array slope = -0.5 * (kv_of(order - 1., z) + kv_of(order + 1., z));
                      return std::pair{kv_of(order, z), std::get<1>(along) * slope};
                    })(v, x);
}
Array kve_of(const Array& v, const Array& x) {
  return custom_jvp(kve_value, [](const Two& at, const Two& along) {
    const auto& [order, z] = at;
    const Array y = kve_of(order, z), beside = kve_of(order - 1., z) + kve_of(order + 1., z);
    return std::pair{y, std::get<1>(along) * (y - 0.5 * beside)};
  })(v, x);
}

/// I'ᵥ from y = Iᵥ: (v/x) Iᵥ + Iᵥ₊₁ for 0 ≤ v < 1, else (Iᵥ₋₁ + Iᵥ₊₁) / 2 (DLMF 10.29.1).
template <class F>
Array i_slope(const F& f, const Array& v, const Array& x, const Array& y) {
  const Array low = v >= 0 && v < 1, above = f(v + 1., x);
  const Array growth = where(v == 0 || !low, 0., v / where(v == 0, 1., x)) * y;
  return where(low, growth + above, 0.5 * (f(where(low, 1., v - 1.), x) + above));
}

Array iv_of(const Array& v, const Array& x) {
  return custom_jvp([](const Array& order, const Array& z) { return ive_value(order, z) * exp(abs(z)); },
                    [](const Two& at, const Two& along) {
                      const auto& [order, z] = at;
                      const Array y = iv_of(order, z);
                      return std::pair{y, std::get<1>(along) * i_slope(iv_of, order, z, y)};
                    })(v, x);
}
Array ive_of(const Array& v, const Array& x) {
  return custom_jvp(ive_value, [](const Two& at, const Two& along) {
    const auto& [order, z] = at;
    const Array y = ive_of(order, z);
    return std::pair{y, std::get<1>(along) * (i_slope(ive_of, order, z, y) - sign(z) * y)};
  })(v, x);
}

template <class F>
Array of_order(const char* name, const char* order, const Array& v, const Array& x, const F& f) {
  return in_f64(name, {nondifferentiable(v, order), x}, [&](const auto& z) { return f(z[0], z[1]); });
}

}  // namespace

Array iv(const Array& v, const Array& x, Loc loc) {
  const LocScope place(loc);
  return of_order("iv", "the order of iv", v, x, iv_of);
}
Array ive(const Array& v, const Array& x, Loc loc) {
  const LocScope place(loc);
  return of_order("ive", "the order of ive", v, x, ive_of);
}
Array kv(const Array& v, const Array& x, Loc loc) {
  const LocScope place(loc);
  return of_order("kv", "the order of kv", v, x, kv_of);
}
Array kve(const Array& v, const Array& x, Loc loc) {
  const LocScope place(loc);
  return of_order("kve", "the order of kve", v, x, kve_of);
}

Array k0(const Array& x, Loc loc) { return kv(zeros_like(inexact(x)), x, loc); }
Array k1(const Array& x, Loc loc) { return kv(ones_like(inexact(x)), x, loc); }
Array k0e(const Array& x, Loc loc) { return kve(zeros_like(inexact(x)), x, loc); }
Array k1e(const Array& x, Loc loc) { return kve(ones_like(inexact(x)), x, loc); }

}  // namespace apsis::special
