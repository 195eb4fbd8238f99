#pragma once

#include "ops/math/rare.hpp"
#include "ops/math/value.hpp"

// sin and cos by reduction modulo pi to one polynomial on |r| <= pi/2. Up to `bound` the reduction is Cody and
// Waite's with fma: x - k pi_1 is exact, being a multiple of the lesser last place and below 2; the next two steps
// round once in relation to what remains. Beyond, the lanes go one by one through rare.cpp.
namespace apsis::detail::math {

template <class Scalar>
struct SineConstants;

template <>
struct SineConstants<double> {
  static constexpr double bound = 1e6;
  static constexpr double inverse_pi = 0x1.45f306dc9c883p-2;
  static constexpr double pi_1 = 0x1.921fb54442d18p+1, pi_2 = 0x1.1a62633145c07p-53, pi_3 = -0x1.f1976b7ed8fbcp-109;
  // (sin(r) - r) / r^3 in r^2; error 2^-61.4 of sin(r)
  static constexpr double p0 = -0x1.5555555555555p-3;
  static constexpr double p[] = {0x1.11111111110c8p-7,   -0x1.a01a01a014d78p-13, 0x1.71de3a52a1315p-19,
                                 -0x1.ae6454d4caf18p-26, 0x1.6123cd23775b5p-33,  -0x1.ae438d56d50cap-41,
                                 0x1.8833bed35a233p-49};
};

template <>
struct SineConstants<float> {
  static constexpr float bound = 2e4f;
  static constexpr float inverse_pi = 0x1.45f306p-2f;
  static constexpr float pi_1 = 0x1.921fb6p+1f, pi_2 = -0x1.777a5cp-24f, pi_3 = -0x1.ee59dap-49f;
  // error 2^-27.2
  static constexpr float p0 = -0x1.55554cp-3f;
  static constexpr float p[] = {0x1.110edap-7f, -0x1.9f70eap-13f, 0x1.5dc824p-19f};
};

/// sin(r) for |r| <= pi/2. The terms after r^3 are apart, for near pi/2 an error of the sum counts in full.
template <Model M>
Real<M> sin_reduced(Real<M> r) {
  using C = SineConstants<typename M::Scalar>;
  const Real<M> square = r * r;
  return fma(r, fma(square * square, two_way(square, C::p), square * C::p0), r);
}

/// sin(x - k pi), negated where the last bit of `shifted` is set.
template <Model M>
Real<M> sin_around(Real<M> x, Real<M> k, Real<M> shifted) {
  using T = typename M::Scalar;
  using C = SineConstants<T>;
  const Real<M> r = fma(k, -C::pi_3, fma(k, -C::pi_2, fma(k, -C::pi_1, x)));
  const Integer<M> odd = to_bits(shifted) << (8 * int(sizeof(T)) - 1);
  return from_bits(to_bits(sin_reduced(r)) ^ odd);
}

/// Sine of x in radians. Error below 1.7 ULP.
template <Model M>
Real<M> sin(Real<M> x) {
  using T = typename M::Scalar;
  using C = SineConstants<T>;
  const Real<M> magnitude = abs(x);
  const Real<M> shifted = fma(magnitude, C::inverse_pi, Format<T>::shifter);
  const Real<M> k = shifted - Format<T>::shifter;
  const Real<M> fast = with_sign_of(sin_around(magnitude, k, shifted), x);
  return rare(magnitude > C::bound, rare_sin<T>, x, fast);
}

/// Cosine of x in radians. Error below 1.7 ULP.
template <Model M>
Real<M> cos(Real<M> x) {
  using T = typename M::Scalar;
  using C = SineConstants<T>;
  // cos x = (-1)^(n + 1) sin(x - (n + 1/2) pi); the shifter is one more, so that its last bit is that of n + 1.
  constexpr T shifter = Format<T>::shifter + 1;
  const Real<M> shifted = fma(x, C::inverse_pi, T(-0.5)) + shifter;
  const Real<M> k = (shifted - shifter) + T(0.5);
  return rare(abs(x) > C::bound, rare_cos<T>, x, sin_around(x, k, shifted));
}

}  // namespace apsis::detail::math
