#pragma once

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <limits>

// Exact values by MPFR, and the distance of a result from them.
namespace apsis::test {

/// A number of 130 bits.
class Exact {
 public:
  Exact() { mpfr_init2(value_, 130); }
  explicit Exact(double x) : Exact() { mpfr_set_d(value_, x, MPFR_RNDN); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  ~Exact() { mpfr_clear(value_); }
  operator mpfr_ptr() { return value_; }

 private:
  mpfr_t value_;
};

using ExactUnary = void (*)(mpfr_ptr result, mpfr_srcptr x);
using ExactBinary = void (*)(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y);

/// |got - exact| in units in the last place of the exact value's binade; 0 when got is what exact rounds to,
/// also for zeros, infinities and NaNs, infinite when only one of them is NaN or the sign of an exact zero is
/// wrong.
template <class T>
double error_in_ulp(T got, mpfr_ptr exact) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  using L = std::numeric_limits<T>;
  if (mpfr_nan_p(exact) || std::isnan(got)) return mpfr_nan_p(exact) && std::isnan(got) ? 0 : wrong;
  if (mpfr_inf_p(exact))
    return std::isinf(got) && std::signbit(got) == (mpfr_signbit(exact) != 0) ? 0 : wrong;
  if (mpfr_zero_p(exact)) return got == 0 && std::signbit(got) == (mpfr_signbit(exact) != 0) ? 0 : wrong;
  const long exponent = std::max<long>(mpfr_get_exp(exact), L::min_exponent) - L::digits;
  if (exponent > L::max_exponent - L::digits || std::isinf(got)) {
    // Beyond the largest number by half a unit or more infinity is right; else it is off by what is missing.
    Exact half_up(static_cast<double>(L::max()));
    Exact half;
    mpfr_set_ui_2exp(half, 1, L::max_exponent - L::digits - 1, MPFR_RNDN);
    mpfr_add(half_up, half_up, half, MPFR_RNDN);
    const bool overflows = mpfr_cmpabs(exact, half_up) >= 0;
    if (std::isinf(got)) return overflows && std::signbit(got) == (mpfr_signbit(exact) != 0) ? 0 : 1;
    return overflows ? 1 : wrong;
  }
  Exact difference(static_cast<double>(got));
  mpfr_sub(difference, difference, exact, MPFR_RNDN);
  mpfr_mul_2si(difference, difference, -exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference, MPFR_RNDN));
}

/// As in IEEE 754, -infinity at -0.
inline void exact_rsqrt(mpfr_ptr result, mpfr_srcptr x) {
  mpfr_rec_sqrt(result, x, MPFR_RNDN);
  if (mpfr_zero_p(x)) mpfr_setsign(result, result, mpfr_signbit(x), MPFR_RNDN);
}

inline void exact_logistic(mpfr_ptr result, mpfr_srcptr x) {
  mpfr_neg(result, x, MPFR_RNDN);
  mpfr_exp(result, result, MPFR_RNDN);
  mpfr_add_ui(result, result, 1, MPFR_RNDN);
  mpfr_ui_div(result, 1, result, MPFR_RNDN);
}

inline void exact_lgamma(mpfr_ptr result, mpfr_srcptr x) {
  int sign;
  mpfr_lgamma(result, &sign, x, MPFR_RNDN);
}

/// As in JAX, NaN at 0 too.
inline void exact_digamma(mpfr_ptr result, mpfr_srcptr x) {
  if (mpfr_zero_p(x)) {
    mpfr_set_nan(result);
  } else {
    mpfr_digamma(result, x, MPFR_RNDN);
  }
}

/// By Newton's method from the series' first term or the tail's, on erf near 0 and erfc further out.
inline void exact_erf_inv(mpfr_ptr result, mpfr_srcptr x) {
  const double magnitude = std::fabs(mpfr_get_d(x, MPFR_RNDN));
  if (!(magnitude < 1)) {
    magnitude == 1 ? mpfr_set_inf(result, mpfr_sgn(x)) : mpfr_set_nan(result);
    return;
  }
  if (magnitude == 0) {
    mpfr_set(result, x, MPFR_RNDN);
    return;
  }
  Exact y, target, residual, slope;
  mpfr_abs(target, x, MPFR_RNDN);
  const bool tail = magnitude > 0.5;
  if (tail) mpfr_ui_sub(target, 1, target, MPFR_RNDN);
  const double w = tail ? -std::log(mpfr_get_d(target, MPFR_RNDN)) : 0;
  mpfr_set_d(y, tail ? std::sqrt(std::max(w - 0.5 * std::log(3.14159 * w + 1), 0.1)) : magnitude * 0.88,
             MPFR_RNDN);
  for (int i = 0; i < 12; ++i) {
    tail ? mpfr_erfc(residual, y, MPFR_RNDN) : mpfr_erf(residual, y, MPFR_RNDN);
    mpfr_sub(residual, residual, target, MPFR_RNDN);
    if (tail) mpfr_neg(residual, residual, MPFR_RNDN);
    mpfr_sqr(slope, y, MPFR_RNDN);
    mpfr_neg(slope, slope, MPFR_RNDN);
    mpfr_exp(slope, slope, MPFR_RNDN);
    mpfr_div(residual, residual, slope, MPFR_RNDN);
    mpfr_const_pi(slope, MPFR_RNDN);
    mpfr_sqrt(slope, slope, MPFR_RNDN);
    mpfr_mul(residual, residual, slope, MPFR_RNDN);
    mpfr_div_2ui(residual, residual, 1, MPFR_RNDN);
    mpfr_sub(y, y, residual, MPFR_RNDN);
    if (mpfr_zero_p(residual) || mpfr_get_exp(residual) < mpfr_get_exp(y) - 100) break;
  }
  mpfr_setsign(result, y, mpfr_signbit(x), MPFR_RNDN);
}

}  // namespace apsis::test
