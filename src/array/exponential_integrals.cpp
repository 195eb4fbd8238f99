// Integrals of exponential, trigonometric and hyperbolic functions over t or a power of it.

#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/logic.hpp"
#include "array/quadrature.hpp"
#include "array/with_slope.hpp"

namespace apsis::special {
using namespace detail;
namespace {

using Two = std::tuple<Array, Array>;

/// (-x)ⁿ⁻¹ / (n - 1)! (ψ(n) - log x) - Σ (-x)ᵐ / ((m - n + 1) m!) without m = n - 1 (DLMF 8.19.8), x < 1/2.
Array expn_series(const Array& n, const Array& x) {
  Array power = ones_like(x), total = zeros_like(x);
  for (int m = 0; m < 16; ++m) {
    const Array place = double(m + 1) - n, itself = place == 0;
    total = total + where(itself, 0., power / where(itself, 1., place));
    power = power * (x / -double(m + 1));
  }
  const Array lead = pow(x, n - 1.) / gamma(n) * (digamma(n) - log(x));
  return where(fmod(n, 2) == 0, -lead, lead) - total;
}

/// e⁻ˣ ∫ exp(-x (eˢ - 1) - (n - 1) s) ds, x ≥ 1/2 or n > 40.
Array expn_integral(const Array& n, const Array& x) {
  const Array slope = x + (n - 1.);
  const Array range = minimum(76. / (slope + sqrt(slope * slope + 76. * x)), log1p(45. / x) + 0.3);
  const Array y = expand_dims(x, -1), m = expand_dims(n - 1., -1);
  return exp(-x) * integral(range, [&](const Array& s) { return exp(-y * expm1(s) - m * s); });
}

Array expn_value(const Array& n, const Array& x) {
  const Array whole = n >= 1 && n == floor(n), order = where(whole, minimum(n, 1e300), 2.);
  const Array far = x > 0 && (x >= 0.5 || order > 40), near = x > 0 && !far;
  const Array tail = expn_integral(order, where(far, minimum(x, 800.), 1.));
  const Array series = expn_series(minimum(order, 40.), where(near, x, 0.25));
  const Array at_zero = where(order == 1, INFINITY, 1. / where(order == 1, 1., order - 1.));
  const Array value = where(far, tail, where(near, series, at_zero));
  const Array of_none = where(x == 0, INFINITY, exp(-x) / where(x == 0, 1., x));
  return where(x >= 0, where(whole, value, where(n == 0, of_none, NAN)), NAN);
}

// E₀ = e⁻ˣ / x, the derivative of Eₙ is -Eₙ₋₁.
Array expn_of(const Array& n, const Array& x) {
  return custom_jvp(expn_value, [](const Two& at, const Two& along) {
    const auto& [order, v] = at;
    const Array none = order == 0, y = expn_of(order, v);
    const Array slope =
        where(none, -y * (1. + 1. / where(none, v, 1.)), -expn_of(where(none, 1., order) - 1., v));
    return std::pair{y, std::get<1>(along) * slope};
  })(n, x);
}

/// sin(x) / x or, for sign 1, sinh(x) / x.
Array sine_ratio(const Array& x, int sign) {
  double terms[10] = {1};
  for (int k = 1; k < 10; ++k) terms[k] = terms[k - 1] * sign / (2. * k * (2 * k + 1));
  const Array near = abs(x) < 0.5, small = where(near, x, 0.), large = where(near, 1., x);
  return where(near, polynomial(terms, small * small), (sign < 0 ? sin(large) : sinh(large)) / large);
}

Array sin_over_x(const Array& x) { return sine_ratio(x, -1); }
Array cos_over_x(const Array& x) { return cos(x) / x; }
Array sinh_over_x(const Array& x) { return sine_ratio(x, 1); }
Array cosh_over_x(const Array& x) { return cosh(x) / x; }

constexpr double sine_end = 6;  // from here on by auxiliary functions

/// ∫ sᵖ exp(-x s) / (1 + s²) ds, p = 0 and 1: the auxiliary functions f and g (DLMF 6.7.13, 6.7.14).
std::pair<Array, Array> auxiliary(const Array& x) {
  const Array range = 40. / x;
  const auto weight = [](const Array& s, const Array& y) { return exp(-y * s) / (1. + s * s); };
  return {integral(range, x, weight),
          integral(range, x, [&](const Array& s, const Array& y) { return s * weight(s, y); })};
}

Array sine_integral(const Array& x) {
  const Array z = minimum(abs(x), 1e300), far = z >= sine_end;
  const Array y = where(far, 1., z), w = where(far, z, sine_end);
  const Array near = integral(y, [](const Array& s) { return sine_ratio(s, -1); });
  const auto [f, g] = auxiliary(w);
  const Array value = where(far, std::numbers::pi / 2 - f * cos(w) - g * sin(w), near);
  return where(x < 0, -value, where(isnan(x) || x == 0, x, value));
}

Array cosine_integral(const Array& x) {
  const Array z = minimum(abs(x), 1e300), far = z >= sine_end;
  const Array y = where(far || z == 0, 1., z), w = where(far, z, sine_end);
  const Array near = (log(y) + euler) - integral(y, [](const Array& s) {
                       const Array half = 0.5 * s;
                       return sine_ratio(half, -1) * sin(half);
                     });
  const auto [f, g] = auxiliary(w);
  const Array value = where(far, f * sin(w) - g * cos(w), near);
  return where(z == 0, -INFINITY, where(isnan(x) || x == -INFINITY, NAN, value));
}

constexpr double sinh_end = 18;  // from here on E₁ is nothing beside Ei

Array sinh_integral(const Array& x) {
  const Array z = abs(x), far = z >= sinh_end, y = where(far, 1., z);
  const Array near = integral(y, [](const Array& s) { return sine_ratio(s, 1); });
  const Array value = where(far, 0.5 * expi(where(far, z, sinh_end)), near);
  return where(x < 0, -value, where(isnan(x) || x == 0, x, value));
}

Array cosh_integral(const Array& x) {
  const Array z = abs(x), far = z >= sinh_end, y = where(far || z == 0, 1., z);
  const Array near = (log(y) + euler) + integral(y, [](const Array& s) {
                       const Array half = 0.5 * s;
                       return sine_ratio(half, 1) * sinh(half);
                     });
  const Array value = where(far, 0.5 * expi(where(far, z, sinh_end)), near);
  return where(z == 0, -INFINITY, where(isnan(x), NAN, value));
}

}  // namespace

Array expn(const Array& n, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("expn", {nondifferentiable(n, "the order of expn"), x},
                [](const auto& v) { return expn_of(v[0], v[1]); });
}

std::pair<Array, Array> sici(const Array& x, Loc loc) {
  const LocScope place(loc);
  return {unary("sici", x, with_slope<sine_integral, sin_over_x>),
          unary("sici", x, with_slope<cosine_integral, cos_over_x>)};
}

std::pair<Array, Array> shichi(const Array& x, Loc loc) {
  const LocScope place(loc);
  return {unary("shichi", x, with_slope<sinh_integral, sinh_over_x>),
          unary("shichi", x, with_slope<cosh_integral, cosh_over_x>)};
}

}  // namespace apsis::special
