// What the files of special functions share.
#pragma once

#include <cstddef>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/support.hpp"

namespace apsis::special::detail {
using namespace apsis::detail::arrays;

constexpr double log_root_two_pi = 0.91893853320467274178;

/// What 16 bits hold, in 32.
inline Array wide(const Array& x) { return item_size(x.dtype()) == 2 ? astype(x, f32) : x; }

/// f of floating numbers, computed in f32 at least.
template <class F>
Array widened(const char* where, const Array& x, const F& f) {
  const Array v = inexact(x);
  check_dtype(where, is_floating(v.dtype()), "real numbers", x);
  const Array y = f(wide(v));
  return y.dtype() == v.dtype() ? y : astype(y, v.dtype());
}
template <class F>
Array widened(const char* where, const Array& x, const Array& y, const F& f) {
  const Array given[] = {x, y};
  const std::vector<Array> v = promoted_inexact(given);
  check_dtype(where, is_floating(v[0].dtype()), "real numbers", v[0]);
  const Array r = f(wide(v[0]), wide(v[1]));
  return r.dtype() == v[0].dtype() ? r : astype(r, v[0].dtype());
}

/// f of floating numbers that are broadcast to one shape, computed in f64.
template <class F>
Array in_f64(const char* where, std::initializer_list<Array> given, const F& f) {
  std::vector<Array> v = promoted_inexact(span_of(given));
  const Dtype dtype = v[0].dtype();
  check_dtype(where, is_floating(dtype), "real numbers", v[0]);
  std::vector<Shape> shapes;
  for (const Array& x : v) shapes.push_back(x.shape());
  const Shape shape = common_shape(where, shapes);
  for (Array& x : v) {
    if (x.dtype() != f64) x = astype(x, f64);
    if (x.shape() != shape) x = broadcast_to(x, shape);
  }
  const Array y = f(v);
  return dtype == f64 ? y : astype(y, dtype);
}

/// Σ c[i] x^i.
template <std::size_t N>
Array polynomial(const double (&c)[N], const Array& x) {
  Array sum = full_like(x, c[N - 1]);
  for (std::size_t i = N - 1; i-- > 0;) sum = fma(sum, x, full_like(x, c[i]));
  return sum;
}

/// eˣ - 1 - x.
inline Array exp_remainder(const Array& x) {
  constexpr double terms[] = {1. / 2,       1. / 6,        1. / 24,        1. / 120,
                              1. / 720,     1. / 5040,     1. / 40320,     1. / 362880,
                              1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};
  const Array near = abs(x) < 0.5, small = where(near, x, 0.), large = where(near, 1., x);
  return where(near, small * small * polynomial(terms, small), expm1(large) - large);
}

/// log Γ(x) - (x - 1/2) log x + x - log √2π for x ≥ 10: Stirling's series.
inline Array stirling(const Array& x) {
  constexpr double terms[] = {1. / 12,   -1. / 360,      1. / 1260, -1. / 1680,
                              1. / 1188, -691. / 360360, 1. / 156,  -3617. / 122400};
  return polynomial(terms, 1. / (x * x)) / x;
}

/// (y / x)ᵖ: what the quotient loses when it is rounded would be multiplied by p.
inline Array power_of_quotient(const Array& y, const Array& x, const Array& p) {
  const Array r = y / x, lost = stop_gradient(fma(-r, x, y)) / y;
  return pow(r, p) * exp(p * lost);
}

/// What a + b lost when it was rounded to `sum`. Constant 0 to derivatives.
inline Array lost_in_sum(const Array& a, const Array& b, const Array& sum) {
  const Array of_b = sum - a;
  return stop_gradient((a - (sum - of_b)) + (b - of_b));
}

/// ψ(x) - log x for x ≥ 20.
inline Array digamma_tail(const Array& x) {
  constexpr double terms[] = {-1. / 12, 1. / 120, -1. / 252, 1. / 240, -1. / 132, 691. / 32760};
  const Array inverse = 1. / x;
  return inverse * (inverse * polynomial(terms, inverse * inverse) - 0.5);
}

/// μ - log(1 + μ).
inline Array log1p_remainder(const Array& mu) {
  constexpr double terms[] = {1. / 3,  1. / 5,  1. / 7,  1. / 9,  1. / 11, 1. / 13, 1. / 15, 1. / 17,
                              1. / 19, 1. / 21, 1. / 23, 1. / 25, 1. / 27, 1. / 29, 1. / 31, 1. / 33};
  const Array near = abs(mu) < 0.5, m = where(near, mu, 0.), r = m / (m + 2.), rr = r * r;
  const Array f = where(near, 1., mu);
  return where(near, m * r - 2. * r * rr * polynomial(terms, rr), f - log1p(f));
}

}  // namespace apsis::special::detail
