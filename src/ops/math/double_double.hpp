#pragma once

#include <cmath>

// Arithmetic to about 104 bits on plain doubles, for the scalar functions of rare lanes (Dekker 1971, Knuth
// 1969).
namespace apsis::detail::math {

struct DoubleDouble {
  double high = 0, low = 0;

  DoubleDouble() = default;
  DoubleDouble(double x) : high(x) {}
  DoubleDouble(double h, double l) : high(h + l), low(l - (high - h)) {}  // for |h| >= |l|

  friend DoubleDouble operator-(DoubleDouble a) {
    a.high = -a.high;
    a.low = -a.low;
    return a;
  }
  friend DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
    const double sum = a.high + b.high, part = sum - a.high;
    const double rounding = (a.high - (sum - part)) + (b.high - part);
    const double low = a.low + b.low, low_part = low - a.low;
    const double low_rounding = (a.low - (low - low_part)) + (b.low - low_part);
    const DoubleDouble first(sum, rounding + low);
    return {first.high, first.low + low_rounding};
  }
  friend DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
  friend DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
    const double product = a.high * b.high;
    return {product, std::fma(a.high, b.high, -product) + std::fma(a.high, b.low, a.low * b.high)};
  }
  friend DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
    const double first = a.high / b.high;
    const DoubleDouble rest = a - b * DoubleDouble(first);
    const double second = rest.high / b.high;
    const DoubleDouble last = rest - b * DoubleDouble(second);
    return DoubleDouble(first, second) + DoubleDouble(last.high / b.high);
  }
};

inline constexpr double pi_high = 0x1.921fb54442d18p+1, pi_low = 0x1.1a62633145c07p-53;

/// Natural logarithm of x > 0: 2 atanh((m - 1) / (m + 1)) + e ln 2.
inline DoubleDouble log(DoubleDouble x) {
  int e = 0;
  if (std::frexp(x.high, &e) < 0.70710678) --e;
  const DoubleDouble m(std::ldexp(x.high, -e), std::ldexp(x.low, -e));
  const DoubleDouble s = (m - DoubleDouble(1)) / (m + DoubleDouble(1)), square = s * s;
  DoubleDouble sum = DoubleDouble(2) / DoubleDouble(47);
  for (int k = 45; k > 0; k -= 2) sum = sum * square + DoubleDouble(2) / DoubleDouble(k);
  return DoubleDouble(e) * DoubleDouble(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56) + s * sum;
}

/// sin(pi x) and cos(pi x) for |x| <= 1/2.
struct SinCos {
  DoubleDouble sin, cos;
};

inline SinCos sin_cos_pi(double x) {
  // Of the two series the one for the larger part of the quarter turn would lose digits: turn it first.
  const double magnitude = std::fabs(x);
  const bool turned = magnitude > 0.25;
  const DoubleDouble angle =
      DoubleDouble(pi_high, pi_low) * DoubleDouble(turned ? 0.5 - magnitude : magnitude);
  const DoubleDouble square = -(angle * angle);
  DoubleDouble sine(1), cosine(1);
  for (int k = 30; k > 0; k -= 2) {
    sine = DoubleDouble(1) + sine * square / DoubleDouble(double(k) * (k + 1));
    cosine = DoubleDouble(1) + cosine * square / DoubleDouble(double(k) * (k - 1));
  }
  sine = sine * angle;
  const DoubleDouble s = turned ? cosine : sine, c = turned ? sine : cosine;
  return {x < 0 ? -s : s, c};
}

}  // namespace apsis::detail::math
