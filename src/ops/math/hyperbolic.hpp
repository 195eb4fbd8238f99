#pragma once

#include "ops/math/exp.hpp"

namespace apsis::detail::math {

template <class Scalar>
struct TanhConstants;

template <>
struct TanhConstants<double> {
  static constexpr double saturated = 20;  // from here on the result is 1
  // ((exp(2 r) - 1) / 2 - r) / r^2 on [-ln2/8, 3 ln2/8]; error 2^-55.3 of expm1(2 r)
  static constexpr double q[] = {0x1.0000000000005p+0, 0x1.5555555555486p-1,  0x1.5555555550f1dp-2,
                                 0x1.11111111a15d2p-3, 0x1.6c16c182e3eccp-5,  0x1.a019f9ddd1098p-7,
                                 0x1.a01a2cc529bd3p-9, 0x1.71fb07f2b6d3dp-11, 0x1.2487bea58dc5ep-13,
                                 0x1.f987e13b855b7p-16};
};

template <>
struct TanhConstants<float> {
  static constexpr float saturated = 10;
  // error 2^-25.9
  static constexpr float q[] = {0x1p+0f, 0x1.555656p-1f, 0x1.554d58p-2f, 0x1.0f2a2ap-3f, 0x1.a64bf2p-5f};
};

template <class Scalar>
struct SinhConstants;

template <>
struct SinhConstants<double> {
  static constexpr double highest = 712;  // beyond, the result is infinite
  // (sinh(x) - x) / x^3 in x^2 for |x| <= 1; error 2^-61.7
  static constexpr double p[] = {0x1.5555555555556p-3,  0x1.1111111111022p-7,  0x1.a01a01a0365a1p-13,
                                 0x1.71de3a3bdcc7fp-19, 0x1.ae646f2cb6deap-26, 0x1.61174b53757fep-33,
                                 0x1.b5ac53450e7c4p-41};
};

template <>
struct SinhConstants<float> {
  static constexpr float highest = 91;
  // error 2^-31.6
  static constexpr float p[] = {0x1.555556p-3f, 0x1.1110e2p-7f, 0x1.a0215p-13f, 0x1.75a8ecp-19f};
};

/// e^x / 2 for x >= 0, which overflows only where sinh and cosh do.
template <Model M>
Real<M> half_exp(Real<M> x) {
  using T = typename M::Scalar;
  const auto [k, r, shifted] = reduce_ln2(at_most(x, SinhConstants<T>::highest), T(2 * Format<T>::bias - 1));
  return scale_by_large_power(expm1_reduced(r), k, shifted);
}

/// Hyperbolic sine. Error below 1.8 ULP.
template <Model M>
Real<M> sinh(Real<M> x) {
  using T = typename M::Scalar;
  const Real<M> magnitude = abs(x), square = x * x;
  const Real<M> small = fma(magnitude, square * horner(square, SinhConstants<T>::p), magnitude);
  const Real<M> half = half_exp(magnitude);
  return with_sign_of(select(magnitude < T(1), small, half - T(0.25) / half), x);
}

/// Hyperbolic cosine. Error below 1.7 ULP.
template <Model M>
Real<M> cosh(Real<M> x) {
  using T = typename M::Scalar;
  const Real<M> half = half_exp(abs(x));
  return half + T(0.25) / half;
}

/// Logistic function 1 / (1 + e^-x), from p = e^-|x| and q = p / (1 + p): 1 - q, or p - p q. Error below 1.9
/// ULP.
template <Model M>
Real<M> logistic(Real<M> x) {
  using T = typename M::Scalar;
  const Real<M> p = exp(-abs(x));
  const Real<M> q = p / (p + T(1));
  return select(x < T(0), fma(-p, q, p), T(1) - q);
}

/// Hyperbolic tangent: m / (m + 1) with m = expm1(2 |x|) / 2. Error below 1.9 ULP.
template <Model M>
Real<M> tanh(Real<M> x) {
  using T = typename M::Scalar;
  using L = Format<T>;
  using C = TanhConstants<T>;
  using E = ExpConstants<T>;
  const Real<M> magnitude = at_most(abs(x), C::saturated);
  // 2 |x| = k ln 2 + 2 r with 2 r from -ln2/4 to 3 ln2/4: for k = 1 no digits cancel in 2^k (1 + p) - 1.
  constexpr T shifter = L::shifter + T(L::bias - 1);
  const Real<M> shifted = fma(magnitude, 2 * E::log2_e, T(-0.25)) + shifter;
  const Real<M> k = shifted - shifter;
  const Real<M> r = fma(k, -E::ln2_low / 2, fma(k, -E::ln2_high / 2, magnitude));
  const Real<M> square = r * r;
  const Real<M> rest = square * two_way(r, square, C::q);
  const Real<M> p = r + rest;
  const Real<M> half_power = from_bits(to_bits(shifted) << L::mantissa_bits);
  const Real<M> m = fma(p, half_power + half_power, half_power - T(0.5));
  const Real<M> quotient = m / (m + T(1));
  // For k = 0, p - p q has x as its exact leading term.
  const Real<M> result = select(k == T(0), r + fma(-p, quotient, rest), quotient);
  return with_sign_of(result, x);
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_HYPERBOLIC_FUNCTIONS(X) \
  X(sinh, 1, 1.8, 1.8, own)           \
  X(cosh, 1, 1.7, 1.7, own)           \
  X(tanh, 1, 1.9, 1.9, own)           \
  X(logistic, 1, 1.9, 1.9, own)
