#include "array/bessel_support.hpp"

#include <cmath>
#include <numbers>

#include "apsis/array/special.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis::special::detail {
namespace {

using std::numbers::pi;

// 1 / Γ(1 + μ) = even(μ²) - μ odd(μ²), by Taylor's series at 0.
constexpr double odd_terms[] = {-0.5772156649015329,    0.04200263503409524,    0.04219773455554433,
                                -0.0072189432466631,    0.00021524167411495098, 2.013485478078824e-05,
                                -1.133027231981696e-06, -6.116095104481416e-09, 1.18127457048702e-09,
                                -7.782263439905071e-12, -5.100370287454476e-13, 5.348122539423018e-15};
constexpr double even_terms[] = {1.0,
                                 -0.6558780715202539,
                                 0.16653861138229148,
                                 -0.009621971527876973,
                                 -0.0011651675918590652,
                                 0.0001280502823881162,
                                 -1.2504934821426706e-06,
                                 -2.056338416977607e-07,
                                 5.002007644469223e-09,
                                 1.0434267116911005e-10,
                                 -3.696805618642206e-12,
                                 -2.0583260535665066e-14};

/// What the series at x = 0 of K and Y have in common (Temme 1975).
struct Start {
  Array f, power, above, below;  // f₀, (2/x)^μ, 1 / Γ(1 + μ), 1 / Γ(1 - μ)
};

Start start(const Array& mu, const Array& x) {
  const Array odd = polynomial(odd_terms, mu * mu), even = polynomial(even_terms, mu * mu);
  const Array ratio = 2. / x, logarithm = log(ratio), e = mu * logarithm;
  const Array zero = mu == 0, safe = where(zero, 0.25, mu), level = e == 0, arch = where(level, 1., e);
  const Array of_sine = where(zero, 1., pi * safe / sin(pi * safe));
  const Array of_sinh = where(level, 1., sinh(arch) / arch);
  return {of_sine * (odd * cosh(e) + even * of_sinh * logarithm), pow(ratio, mu), even - mu * odd,
          even + mu * odd};
}

}  // namespace

Neighbours small_k(const Array& mu, const Array& x) {
  const Start s = start(mu, x);
  Array f = s.f, p = 0.5 * s.power / s.above, q = 0.5 / (s.power * s.below), c = ones_like(x);
  Array at = f, next = p;
  for (int k = 1; k < 12; ++k) {
    f = (double(k) * f + p + q) / (double(k * k) - mu * mu);
    c = c * (x * x / (4. * k));
    p = p / (double(k) - mu);
    q = q / (double(k) + mu);
    at = at + c * f;
    next = next + c * (p - double(k) * f);
  }
  return {at, next * (2. / x)};
}

Neighbours small_y(const Array& mu, const Array& x) {
  const Start s = start(mu, x);
  const Array half = 0.5 * pi * mu, sine = sin(half),
              r = pi * sine * where(half == 0, 0., sine / where(half == 0, 1., half));
  Array f = (2 / pi) * s.f, p = s.power / (pi * s.above), q = 1. / (pi * s.power * s.below), c = ones_like(x);
  Array at = f + r * q, next = p;
  for (int k = 1; k < 12; ++k) {
    f = (double(k) * f + p + q) / (double(k * k) - mu * mu);
    c = c * (x * x / (-4. * k));
    p = p / (double(k) - mu);
    q = q / (double(k) + mu);
    const Array term = c * (f + r * q);
    at = at + term;
    next = next + (c * p - double(k) * term);
  }
  return {-at, next * (-2. / x)};
}

// Schläfli's integral for Hankel's function, ∫ exp(x sinh w - μw) dw / (πi), along the path of steepest
// descent for μ = 0: w = iπ/2 + a + i gd(a), where sinh w = i - sinh a tanh a. The part of -a is the
// conjugate for -μ.
OfBothKinds by_steepest_descent(const Array& mu, const Array& x) {
  constexpr int points = 28;
  const Array end = 42. / x, last = acosh(0.5 * (end + sqrt(end * end + 4.))), step = last / double(points);
  const Array a = expand_dims(step, -1) * steps(points), up = sinh(a), secant = 1. / cosh(a),
              angle = atan(up);
  const Array decay = exp(-expand_dims(x, -1) * (up * up * secant));
  const Array cx = cos(x), sx = sin(x), turn = (0.5 * pi) * mu, ct = cos(turn), st = sin(turn);
  const Array cosine = cx * ct + sx * st, sine = sx * ct - cx * st;
  const auto of = [&](const Array& order, const Array& c, const Array& s) {
    const Array m = expand_dims(order, -1), even = cosh(m * a) * cos(m * angle),
                odd = sinh(m * a) * sin(m * angle);
    const Array real = trapezoid_sum(decay * (even - odd * secant), step, points);
    const Array imaginary = trapezoid_sum(decay * (even * secant + odd), step, points);
    return std::pair{(2 / pi) * (imaginary * c + real * s), (2 / pi) * (imaginary * s - real * c)};
  };
  const auto [j, y] = of(mu, cosine, sine);
  const auto [j_next, y_next] = of(mu + 1., sine, -cosine);
  return {{j, j_next}, {y, y_next}};
}

Array leading_term(const Array& v, const Array& x) {
  const Array far = v > 60., n = where(far, v, 60.), m = where(far, 1., v), half = 0.5 * x;
  const Array large = exp(n * (log(half / n) + 1.) - stirling(n)) / sqrt((2 * pi) * n);
  return where(far, large, pow(half, m) / gamma(m + 1.));
}

Array less_x(const Array& x, int sign) {
  double terms[13] = {1. / 6};
  for (int k = 1; k < 13; ++k) terms[k] = terms[k - 1] * sign / ((2. * k + 2) * (2 * k + 3));
  const Array near = abs(x) < 2, small = where(near, x, 0.), square = small * small;
  const Array far = sign > 0 ? sinh(x) - x : x - sin(x);
  return where(near, small * square * polynomial(terms, square), far);
}

Array sin_pi(const Array& v) {
  const Array whole = round(v), sine = sin(pi * (v - whole));
  return where(fmod(whole, 2) == 0, sine, -sine);
}
Array cos_pi(const Array& v) {
  const Array whole = round(v), cosine = cos(pi * (v - whole));
  return where(fmod(whole, 2) == 0, cosine, -cosine);
}

Array with_parity(const Array& f, const Array& v, const Array& x) {
  const Array signed_f = where(fmod(v, 2) == 0, f, -f);
  return where(x < 0, where(v == floor(v), signed_f, NAN), f);
}

}  // namespace apsis::special::detail
