#include <limits>

#include "ops/math/double_double.hpp"
#include "ops/math/rare.hpp"

// lgamma and digamma of negative numbers, by reflection in double-double: near their zeros large terms
// cancel.
namespace apsis::detail::math {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

/// Nearer to 0, lgamma is -log |x| and digamma -1/x.
constexpr double tiny = -0x1p-60;

struct Fraction {
  double over, under;
};

/// From here on both asymptotic series reach 2^-106 with the terms below.
constexpr double asymptotic = 32;

// B_2k / (2k (2k - 1)) and B_2k / 2k, B the Bernoulli numbers
constexpr Fraction stirling[] = {{1, 12},         {-1, 360},         {1, 1260},     {-1, 1680},
                                 {1, 1188},       {-691, 360360},    {1, 156},      {-3617, 122400},
                                 {43867, 244188}, {-174611, 125400}, {77683, 5796}, {-236364091, 1506960}};
constexpr Fraction digamma_series[] = {{1, 12},        {-1, 120},       {1, 252},     {-1, 240},
                                       {1, 132},       {-691, 32760},   {1, 12},      {-3617, 8160},
                                       {43867, 14364}, {-174611, 6600}, {77683, 276}, {-236364091, 65520}};

template <std::size_t n>
DoubleDouble series(DoubleDouble u, const Fraction (&c)[n]) {
  DoubleDouble sum;
  for (std::size_t i = n; i-- > 0;) sum = sum * u + DoubleDouble(c[i].over) / DoubleDouble(c[i].under);
  return sum;
}

/// log gamma of y >= 1.
DoubleDouble log_gamma(DoubleDouble y) {
  DoubleDouble product(1);
  while (y.high < asymptotic) {
    product = product * y;
    y = y + DoubleDouble(1);
  }
  const DoubleDouble half_log_two_pi(0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55);
  const DoubleDouble inverse = DoubleDouble(1) / y;
  return (y - DoubleDouble(0.5)) * log(y) - y + half_log_two_pi +
         inverse * series(inverse * inverse, stirling) - log(product);
}

/// Digamma of y >= 1.
DoubleDouble digamma(DoubleDouble y) {
  DoubleDouble sum;
  while (y.high < asymptotic) {
    sum = sum + DoubleDouble(1) / y;
    y = y + DoubleDouble(1);
  }
  const DoubleDouble inverse = DoubleDouble(1) / y, u = inverse * inverse;
  return log(y) - inverse * DoubleDouble(0.5) - u * series(u, digamma_series) - sum;
}

/// 1 - x for x < 0.
DoubleDouble reflected(double x) { return DoubleDouble(1) - DoubleDouble(x); }

}  // namespace
}  // namespace apsis::detail::math

using namespace apsis::detail::math;

extern "C" {

double apsis_rare_lgamma_f64(double x) {
  if (!(x < 0)) return x == 0 ? infinite : undefined;
  const double nearest = std::rint(x), rest = x - nearest;
  if (rest == 0 || std::isinf(x)) return infinite;
  if (x > tiny) return -log(DoubleDouble(-x)).high;
  // gamma(x) gamma(1 - x) = pi / sin(pi x)
  const DoubleDouble sine = sin_cos_pi(std::fabs(rest)).sin;
  return (log(DoubleDouble(pi_high, pi_low) / sine) - log_gamma(reflected(x))).high;
}

double apsis_rare_digamma_f64(double x) {
  if (!(x < 0) || std::isinf(x)) return undefined;
  const double rest = x - std::rint(x);
  if (rest == 0) return undefined;
  if (x > tiny) return -1 / x;
  // digamma(1 - x) - digamma(x) = pi cot(pi x)
  const auto [sine, cosine] = sin_cos_pi(rest);
  return (digamma(reflected(x)) - DoubleDouble(pi_high, pi_low) * cosine / sine).high;
}
}
