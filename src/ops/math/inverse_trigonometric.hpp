#pragma once

#include "ops/math/pair.hpp"

// asin and acos by one polynomial on [0, 1/2] and asin x = pi/2 - 2 asin sqrt((1 - x)/2); atan and atan2 by
// one on [0, 1] and atan x = pi/2 - atan(1/x).
namespace apsis::detail::math {

template <class Scalar>
struct InverseTrigonometricConstants;

template <>
struct InverseTrigonometricConstants<double> {
  static constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
  // (asin(s) - s) / s^3 in s^2; error 2^-55.9
  static constexpr double p_asin[] = {0x1.5555555555388p-3, 0x1.333333336f69fp-4,  0x1.6db6db41e2774p-5,
                                      0x1.f1c72c6ae511cp-6, 0x1.6e89ef769aae8p-6,  0x1.1c6c2ba4ed5fdp-6,
                                      0x1.c6f7e7a4cf4b6p-7, 0x1.8eea560fbc67cp-7,  0x1.aa7310773bc59p-8,
                                      0x1.40e84a44b7e0ap-6, -0x1.0b59a9b3656aep-6, 0x1.05f602d804562p-5};
  // (atan(t) - t) / t^3 in t^2; error 2^-57.6
  static constexpr double p_atan[] = {
      -0x1.5555555555525p-2, 0x1.9999999995491p-3,  -0x1.249249237b8b2p-3,  0x1.c71c717efb96fp-4,
      -0x1.745d11a062ac3p-4, 0x1.3b1365fabdaa1p-4,  -0x1.110e4c2d0be11p-4,  0x1.e1bb6c2567e6fp-5,
      -0x1.ae5d720f5b843p-5, 0x1.82d775affc0ccp-5,  -0x1.599b2857638dbp-5,  0x1.2c1c5cc2b9faap-5,
      -0x1.e9c0dff4df728p-6, 0x1.67f64830a39b5p-6,  -0x1.c70a4db0f682p-7,   0x1.d6faeaf6b1a5dp-8,
      -0x1.797456dca57d2p-9, 0x1.b2e1f34b35912p-11, -0x1.3e40f56764d7dp-13, 0x1.ba61206ace18p-17};
};

template <>
struct InverseTrigonometricConstants<float> {
  static constexpr float half_pi = 0x1.921fb6p+0f, half_pi_low = -0x1.777a5cp-25f;
  // error 2^-27.6
  static constexpr float p_asin[] = {0x1.5555cap-3f, 0x1.33016ep-4f, 0x1.748a34p-5f, 0x1.8badc4p-6f,
                                     0x1.59d9fp-5f};
  // error 2^-28; the last is a little larger than best, so that atan(1) rounds to pi/4
  static constexpr float p_atan[] = {-0x1.555552p-2f, 0x1.99981ap-3f, -0x1.2475f6p-3f, 0x1.c50eb8p-4f,
                                     -0x1.6947dcp-4f, 0x1.14ebb4p-4f, -0x1.70235cp-5f, 0x1.748534p-6f,
                                     -0x1.e54a0ep-8f, 0x1.284728p-10f};
};

/// asin of |x| <= 1/2, or of s = sqrt((1 - |x|) / 2) for larger |x|, as s + rest.
template <Model M>
struct ArcSineCore {
  Mask<M> large;
  Real<M> s, rest;
};

template <Model M>
ArcSineCore<M> arcsine_core(Real<M> magnitude) {
  using T = typename M::Scalar;
  const Mask<M> large = magnitude > T(0.5);
  const Real<M> z = select(large, fma(magnitude, T(-0.5), T(0.5)), magnitude * magnitude);
  const Real<M> s = select(large, square_root(z), magnitude);
  return {large, s, s * z * anchored(z, InverseTrigonometricConstants<T>::p_asin)};
}

/// Arc sine, NaN outside [-1, 1]. Error below 1.4 ULP.
template <Model M>
Real<M> asin(Real<M> x) {
  using C = InverseTrigonometricConstants<typename M::Scalar>;
  const auto [large, s, rest] = arcsine_core(abs(x));
  const auto [high, low] = fast_two_sum(x.constant(C::half_pi), -(s + s));
  const Real<M> from_half_pi = high + (low + (C::half_pi_low - (rest + rest)));
  return with_sign_of(select(large, from_half_pi, s + rest), x);
}

/// Arc cosine, NaN outside [-1, 1]. Error below 1.4 ULP.
template <Model M>
Real<M> acos(Real<M> x) {
  using T = typename M::Scalar;
  using C = InverseTrigonometricConstants<T>;
  const auto [large, s, rest] = arcsine_core(abs(x));
  // pi/2 - asin x, or pi - 2 asin s for x < -1/2, or 2 asin s
  const Mask<M> negative = x < T(0);
  const Real<M> factor = select(large, x.constant(2), x.constant(1));
  const Real<M> base = select(large, select(negative, x.constant(2 * C::half_pi), x.constant(0)), C::half_pi);
  const Real<M> base_low =
      select(large, select(negative, x.constant(2 * C::half_pi_low), x.constant(0)), C::half_pi_low);
  const Real<M> sign = select((large & negative) | !(large | negative), -factor, factor);
  const auto [high, low] = two_sum(base, sign * s);
  return high + (low + fma(sign, rest, base_low));
}

/// base + base_low + atan(t) for |t| <= 1 and |base| >= 1 or 0. By Horner's rule, as the even and the odd
/// coefficients alone would cancel near t = 1.
template <Model M>
Real<M> atan_from(Real<M> base, Real<M> base_low, Real<M> t) {
  const Real<M> square = t * t;
  const Real<M> rest =
      t * (square * horner(square, InverseTrigonometricConstants<typename M::Scalar>::p_atan));
  const auto [high, low] = fast_two_sum(base, t);
  return high + (low + (rest + base_low));
}

/// Arc tangent. Error below 1.4 ULP.
template <Model M>
Real<M> atan(Real<M> x) {
  using T = typename M::Scalar;
  using C = InverseTrigonometricConstants<T>;
  const Real<M> magnitude = abs(x);
  const Mask<M> large = magnitude > T(1);
  const Real<M> zero = x.constant(0);
  return with_sign_of(atan_from(select(large, C::half_pi, zero), select(large, C::half_pi_low, zero),
                                select(large, T(-1) / magnitude, magnitude)),
                      x);
}

/// The angle of the point (x, y), from -pi to pi, with the special values of C99 (atan2). Error below 1.6
/// ULP.
template <Model M>
Real<M> atan2(Real<M> y, Real<M> x) {
  using T = typename M::Scalar;
  using L = Format<T>;
  using C = InverseTrigonometricConstants<T>;
  const Real<M> ax = abs(x), ay = abs(y), zero = x.constant(0);
  const Mask<M> steep = ay > ax, left = copysign(x.constant(1), x) < T(0);
  const Real<M> less = select(steep, ax, ay), more = select(steep, ay, ax);
  const Real<M> quotient = less / more;
  const Real<M> defined = select(more == T(0), T(0), select(less == L::infinity, T(1), quotient));
  // pi/2 -+ t where the point is above the diagonals, else t or pi - t
  const Mask<M> falling = (steep & !left) | (left & !steep);
  const Real<M> base = select(steep, C::half_pi, select(left, x.constant(2 * C::half_pi), zero));
  const Real<M> base_low = select(steep, C::half_pi_low, select(left, x.constant(2 * C::half_pi_low), zero));
  const Real<M> result = atan_from(base, base_low, select(falling, -defined, defined));
  return select((x != x) | (y != y), L::nan, with_sign_of(result, y));
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_INVERSE_TRIGONOMETRIC_FUNCTIONS(X) \
  X(asin, 1, 1.4, 1.4, own)                      \
  X(acos, 1, 1.4, 1.4, own)                      \
  X(atan, 1, 1.4, 1.4, own)                      \
  X(atan2, 2, 1.6, 1.6, own)
