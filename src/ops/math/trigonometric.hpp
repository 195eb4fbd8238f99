#pragma once

#include "ops/math/pair.hpp"
#include "ops/math/rare.hpp"

// sin and cos by reduction modulo pi to one polynomial on |r| <= pi/2. Up to `bound` the reduction is Cody
// and Waite's with fma: x - k pi_1 is exact, being a multiple of the lesser last place and below 2; the next
// two steps round once in relation to what remains. Beyond, the lanes go one by one through rare.cpp.
namespace apsis::detail::math {

template <class Scalar>
struct SineConstants;

template <>
struct SineConstants<double> {
  static constexpr double bound = 1e6;
  static constexpr double inverse_pi = 0x1.45f306dc9c883p-2;
  static constexpr double pi_1 = 0x1.921fb54442d18p+1, pi_2 = 0x1.1a62633145c07p-53,
                          pi_3 = -0x1.f1976b7ed8fbcp-109;
  // (sin(r) - r) / r^3 in r^2; error 2^-60 of sin(r), the last a little larger than best, so that cos 0 is 1
  static constexpr double p0 = -0x1.5555555555555p-3;
  static constexpr double p[] = {0x1.11111111110c8p-7,   -0x1.a01a01a014d7ap-13, 0x1.71de3a52a15c8p-19,
                                 -0x1.ae6454d4edefap-26, 0x1.6123cd2fc8f5cp-33,  -0x1.ae43915065f98p-41,
                                 0x1.88344p-49};
};

template <>
struct SineConstants<float> {
  static constexpr float bound = 2e4f;
  static constexpr float inverse_pi = 0x1.45f306p-2f;
  static constexpr float pi_1 = 0x1.921fb6p+1f, pi_2 = -0x1.777a5cp-24f, pi_3 = -0x1.ee59dap-49f;
  // error 2^-27.3
  static constexpr float p0 = -0x1.55554cp-3f;
  static constexpr float p[] = {0x1.110edap-7f, -0x1.9f70eap-13f, 0x1.5dc844p-19f};
};

/// sin(r) for |r| <= pi/2. Near pi/2 an error of the sum of the cubic and higher terms counts in full, so it
/// is rounded once.
template <Model M>
Real<M> sin_reduced(Real<M> r) {
  using C = SineConstants<typename M::Scalar>;
  const Real<M> square = r * r, fourth = square * square;
  return fma(r, fma(square, C::p0, fourth * two_way(square, fourth, C::p)), r);
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

/// Sine of x in radians. Error below 1.8 ULP.
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

/// Cosine of x in radians. Error below 1.8 ULP.
template <Model M>
Real<M> cos(Real<M> x) {
  using T = typename M::Scalar;
  using C = SineConstants<T>;
  // cos x = (-1)^(n + 1) sin(x - (n + 1/2) pi); the shifter is one more, so that its last bit is that of n
  // + 1.
  constexpr T shifter = Format<T>::shifter + 1;
  const Real<M> shifted = fma(x, C::inverse_pi, T(-0.5)) + shifter;
  const Real<M> k = (shifted - shifter) + T(0.5);
  return rare(abs(x) > C::bound, rare_cos<T>, x, sin_around(x, k, shifted));
}

template <class Scalar>
struct TangentConstants;

template <>
struct TangentConstants<double> {
  static constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  // The second part is short: its product with k is exact.
  static constexpr double half_pi_1 = 0x1.921fb54442d18p+0, half_pi_2 = 0x1.1a626331p-54,
                          half_pi_3 = 0x1.1701b839a252p-88;
  // (tan(r) - r) / r^3 in r^2; error 2^-56.2 of tan(r)
  static constexpr double p[] = {0x1.55555555554fp-2,    0x1.11111111184aep-3,  0x1.ba1ba1b456c7bp-5,
                                 0x1.664f49ac26c4p-6,    0x1.226e11f3b7cdfp-7,  0x1.d6d942053b564p-9,
                                 0x1.7d5ab00359d61p-10,  0x1.380032943ecc5p-11, 0x1.d22e1f6ae7556p-13,
                                 0x1.1eb29d2fda1f1p-13,  -0x1.bf0bf249e32ep-16, 0x1.7833b82fd78e9p-14,
                                 -0x1.798e115d23e6bp-15, 0x1.5e90295fa77d6p-16};
};

template <>
struct TangentConstants<float> {
  static constexpr float two_over_pi = 0x1.45f306p-1f;
  static constexpr float half_pi_1 = 0x1.921fb6p+0f, half_pi_2 = -0x1.778p-25f, half_pi_3 = 0x1.68c234p-39f;
  // error 2^-29.5
  static constexpr float p[] = {0x1.55556p-2f,  0x1.110d9ep-3f,  0x1.bad9d2p-5f, 0x1.5cbf66p-6f,
                                0x1.62d6b2p-7f, 0x1.9246d4p-14f, 0x1.1ea9aep-8f};
};

/// tan(r + tail) for |r| <= pi/4, or its negative reciprocal where `odd`.
template <Model M>
Real<M> tan_reduced(Real<M> r, Real<M> tail, Mask<M> odd) {
  using T = typename M::Scalar;
  const Real<M> square = r * r;
  const Real<M> slope = fma(square, T(2.0 / 3), T(1));  // the derivative is 1 + r^2 + 2/3 r^4 + ...
  const Real<M> correction = fma(square * slope, tail, tail);
  const Real<M> tangent = r + fma(square * r, two_way(square, TangentConstants<T>::p), correction);
  return select(odd, T(-1) / tangent, tangent);
}

/// Tangent of x in radians. Error below 1.9 ULP.
template <Model M>
Real<M> tan(Real<M> x) {
  using T = typename M::Scalar;
  using C = TangentConstants<T>;
  const Real<M> magnitude = abs(x);
  const Real<M> shifted = fma(magnitude, C::two_over_pi, Format<T>::shifter);
  const Real<M> k = shifted - Format<T>::shifter;
  const Real<M> first = fma(k, -C::half_pi_1, magnitude);
  const Real<M> r = fma(k, -C::half_pi_2, first);
  const Real<M> tail = fma(k, -C::half_pi_3, fma(k, -C::half_pi_2, first - r));
  const Real<M> fast = tan_reduced(r, tail, !((to_bits(shifted) & 1) == 0));
  return rare(magnitude > SineConstants<T>::bound, rare_tan<T>, x, with_sign_of(fast, x));
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_TRIGONOMETRIC_FUNCTIONS(X) \
  X(sin, 1, 1.8, 1.8, own)               \
  X(cos, 1, 1.8, 1.8, own)               \
  X(tan, 1, 1.9, 1.9, own)
