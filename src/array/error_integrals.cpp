// Integrals of exp(±t²) with real and imaginary t: Fresnel's, Owen's, and the inverse of erfc.

#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/logic.hpp"
#include "array/quadrature.hpp"
#include "array/with_slope.hpp"

namespace apsis::special {
using namespace detail;
namespace {

using std::numbers::pi;

/// x², less a multiple of 4: the digits that are lost when x² is rounded are kept.
Array square_mod_4(const Array& x) {
  const Array square = x * x, lost = fma(x, x, -square);
  return fmod(square, 4) + lost;
}

constexpr double fresnel_end = 2.4;  // from here on by auxiliary functions

/// ∫ sin(πt²/2) dt from 0 to x, or of cos.
template <bool sine>
Array fresnel_value(const Array& x) {
  const Array z = minimum(abs(x), 1e150), far = z >= fresnel_end;
  const Array near = integral(where(far, 1., z), [](const Array& s) {
    const Array angle = (pi / 2) * (s * s);
    return sine ? sin(angle) : cos(angle);
  });
  // (√2/π) ∫ s²ᵖ exp(-πx²s²/2) / (1 + s⁴) ds, p = 0 and 1 (DLMF 7.7.10, 7.7.11 with t = s²)
  const Array w = where(far, z, fresnel_end), rate = (pi / 2) * (w * w), range = std::sqrt(39.) / sqrt(rate);
  const auto weight = [](const Array& s, const Array& k) {
    const Array square = s * s;
    return exp(-k * square) / (1. + square * square);
  };
  constexpr double factor = std::numbers::sqrt2 / pi;
  const Array f = factor * integral(range, rate, weight);
  const Array g =
      factor * integral(range, rate, [&](const Array& s, const Array& k) { return s * s * weight(s, k); });
  const Array angle = (pi / 2) * square_mod_4(w), sn = sin(angle), cs = cos(angle);
  const Array value = where(far, 0.5 + (sine ? -(f * cs) - g * sn : f * sn - g * cs), near);
  return where(x < 0, -value, where(isnan(x) || x == 0, x, value));
}

template <bool sine>
Array fresnel_slope(const Array& x) {
  const Array angle = (pi / 2) * square_mod_4(x);
  return sine ? sin(angle) : cos(angle);
}

/// The probability that a standard normal number is above |x|.
Array upper_tail(const Array& x) { return ndtr(-abs(x)); }

/// exp(-h² / 2), corrected for the rounding of h².
Array bell(const Array& h) {
  const Array square = h * h, lost = fma(h, h, -square);
  return exp(-0.5 * square) * (1. - 0.5 * where(square < 1500, lost, 0.));
}

/// Owen's T for h ≥ 0, 0 ≤ a ≤ 1: (1/2π) ∫ exp(-h² (1 + s²) / 2) / (1 + s²) ds from 0 to a.
Array owens_inside(const Array& h, const Array& a) {
  const Array range = minimum(a, 8.9 / maximum(h, 1.));
  const Array under = integral(range, h, [](const Array& s, const Array& y) {
    const Array scaled = y * s;
    return exp(-0.5 * (scaled * scaled)) / (1. + s * s);
  });
  return bell(h) * under * (0.5 * std::numbers::inv_pi);
}

/// T(h, a) = (Q(h) + Q(ah)) / 2 - Q(h) Q(ah) - T(ah, 1/a) for a > 1 (Owen 1956, 2.3).
Array owens_value(const Array& h, const Array& a) {
  const Array p = minimum(abs(h), 1e150), q = minimum(abs(a), 1e150), steep = q > 1;
  const Array product = p * q;
  const Array inside = owens_inside(where(steep, product, p), where(steep, 1. / where(steep, q, 1.), q));
  const Array one = upper_tail(p), two = upper_tail(where(steep, product, 0.));
  const Array value = where(steep, 0.5 * (one + two) - one * two - inside, inside);
  return where(isnan(h) || isnan(a), NAN, where(a < 0, -value, value));
}

Array owens_of(const Array& h, const Array& a) {
  return custom_jvp(owens_value,
                    [](const std::tuple<Array, Array>& at, const std::tuple<Array, Array>& along) {
                      const auto& [p, q] = at;
                      const auto& [dp, dq] = along;
                      const Array by_h = bell(p) * erf(p * q * std::sqrt(0.5)) * -0.5 / std::sqrt(2 * pi);
                      const Array by_a = bell(p) * bell(p * q) / (2 * pi * (1. + q * q));
                      return std::pair{owens_of(p, q), dp * by_h + dq * by_a};
                    })(h, a);
}

/// From ndtri, and one step of Newton's method.
Array erfcinv_value(const Array& q) {
  const Array tail = q > 0 && q < 0.5, p = where(tail, q, 0.25);
  const Array start = ndtri(0.5 * p) * -std::sqrt(0.5);
  const Array slope = exp(-start * start) * (2 * std::numbers::inv_sqrtpi), plain = slope > 1e-290;
  const Array step = where(plain, (erfc(start) - p) / where(plain, slope, 1.), 0.);
  const Array middle = where(q >= 0.5 && q <= 2, q, 1.);
  return where(tail, start + step,
               where(q == 0, INFINITY, where(q >= 0.5 && q <= 2, erf_inv(1. - middle), NAN)));
}

Array erfcinv_slope(const Array& q);
Array erfcinv_of(const Array& q) { return with_slope<erfcinv_value, erfcinv_slope>(q); }
Array erfcinv_slope(const Array& q) {
  const Array y = erfcinv_of(q);
  return exp(y * y) * (-0.5 * std::sqrt(pi));
}

}  // namespace

std::pair<Array, Array> fresnel(const Array& x, Loc loc) {
  const LocScope place(loc);
  return {unary("fresnel", x, with_slope<fresnel_value<true>, fresnel_slope<true>>),
          unary("fresnel", x, with_slope<fresnel_value<false>, fresnel_slope<false>>)};
}

Array owens_t(const Array& h, const Array& a, Loc loc) {
  const LocScope place(loc);
  return in_f64("owens_t", {h, a}, [](const auto& v) { return owens_of(v[0], v[1]); });
}

Array erfcinv(const Array& q, Loc loc) {
  const LocScope place(loc);
  return unary("erfcinv", q, erfcinv_of);
}

}  // namespace apsis::special
