#pragma once

#include "ops/math/log.hpp"

// erf, erfc and the inverse of erf. Near 0 erf is x times a polynomial in x^2; further out erfc x is
// exp(-x^2) w(t) / (1 + 2 x), with w a polynomial in t = (x - 3) / (x + 3) (the form of Shepherd and
// Laframboise 1981), the square and the quotient carried as pairs. f32 is computed in f64.
namespace apsis::detail::math {

struct ErrorConstants {
  // erf(x) / x - 1 in x^2 for |x| <= 3/4; error 2^-56.2
  static constexpr double p[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379ffp-2,  0x1.ce2f21a0436d8p-4,
                                 -0x1.b82ce312a5a0bp-6,  0x1.565bcd0f1562p-8,    -0x1.c02db33b2d264p-11,
                                 0x1.f9a2ec271c8dfp-14,  -0x1.f4ca2df01a4b3p-17, 0x1.b93f03145181ap-20,
                                 -0x1.577d889cc2accp-23, 0x1.9088c46e4f345p-27};
  // (1 + 2 x) exp(x^2) erfc(x) = w0 + t w(t) for 1/2 <= x <= 28; error 2^-59.4
  static constexpr double w0 = 0x1.40c522d7e4987p+0, w0_low = 0x1.a19969d5cf11fp-55;
  static constexpr double w[] = {
      -0x1.15c084bb9e8f3p-3,  -0x1.85a15c58aa5dfp-5,  0x1.098366a5b46d2p-3,  -0x1.e88b803a49263p-4,
      0x1.17ca2877f0b68p-4,   -0x1.8574c40bccd4ap-6,  0x1.4b884e44df46ap-9,  0x1.ef1bdd4078999p-10,
      -0x1.98db51315445ap-11, -0x1.b9126da791ed7p-14, 0x1.065a39c6c6b84p-13, 0x1.4c21793e333cap-18,
      -0x1.513b8bc366215p-16, -0x1.87d9e5858b225p-21, 0x1.d208d0eee4268p-19, 0x1.7a30836851e8bp-22,
      -0x1.4a76a2f166aecp-21, -0x1.1ed0f4df2b997p-23, 0x1.ab6e4b30e00f1p-24, 0x1.204dcf44f3e1ep-25,
      -0x1.77508ca0bc4ebp-27, -0x1.182aee779ae92p-28};
  static constexpr double two_over_root_pi = 0x1.20dd750429b6dp+0;
};

/// erf(x) for 0 <= x <= 3/4.
template <Model M>
Real<M> erf_small(Real<M> x) {
  return fma(x, anchored(x * x, ErrorConstants::p), x);
}

/// erfc(x) for x >= 1/2, and e^(-x^2).
template <Model M>
struct ErrorTail {
  Real<M> erfc, gaussian;
};

template <Model M>
ErrorTail<M> erfc_large(Real<M> x) {
  using C = ErrorConstants;
  using E = ExpConstants<double>;
  const Real<M> bounded = at_most(x, 28.0);  // where the result has vanished
  const auto [divisor, divisor_low] = fast_two_sum(bounded + bounded, x.constant(1));
  const Real<M> t = (bounded - 3.0) / (bounded + 3.0), inverse = 1.0 / divisor;
  const auto [w, w_low] = fast_two_sum(x.constant(C::w0), t * anchored(t, C::w));
  const Real<M> quotient = w * inverse;
  const Real<M> quotient_low =
      fma(-quotient, divisor_low, fma(-quotient, divisor, w) + (w_low + C::w0_low)) * inverse;
  const auto [square, square_low] = two_product(bounded, bounded);
  // -x^2 = k ln 2 + r + r_low
  constexpr double shifter = Format<double>::shifter + 2 * Format<double>::bias;
  const Real<M> shifted = fma(square, -E::log2_e, shifter);
  const Real<M> k = shifted - shifter;
  const auto [r, r_low] = fast_two_sum(fma(k, -E::ln2_high, -square), fma(k, -E::ln2_low, -square_low));
  const Real<M> r_square = r * r;
  const Real<M> curved = fma(r_square, two_way(r, r_square, E::q), r_low);  // e^(r + r_low) - 1 - r
  const Real<M> unscaled = quotient + fma(r, quotient, fma(curved, quotient, quotient_low));
  const auto [first, second] = split_power(k, shifted);
  return {unscaled * first * second, fma(r + curved, first, first) * second};
}

struct ErrorConstantsF32 {
  // erf(x) / x - 1 in x^2 for |x| <= 0.9; error 2^-29.9
  static constexpr float p[] = {0x1.06eba8p-3f, -0x1.812742p-2f,  0x1.ce2dfap-4f, -0x1.b80ee6p-6f,
                                0x1.54d574p-8f, -0x1.aafa6ap-11f, 0x1.5ff302p-14f};
  // -log2 erfc(x) on [0.89, 3.95]; error 2^-28.6 of erf(x)
  static constexpr float h[] = {0x1.ef5bp-13f,   0x1.a0886cp+0f, 0x1.d67f9p-1f,  0x1.33a602p-3f,
                                -0x1.07c79ep-5f, 0x1.21e836p-8f, -0x1.2bf0bp-12f};
};

/// Error function. Error below 1.3 ULP.
template <Model M>
Real<M> erf(Real<M> x) {
  const Real<M> magnitude = abs(x);
  if constexpr (is_f32<M>) {
    using C = ErrorConstantsF32;
    using L = Format<float>;
    const Real<M> small = fma(magnitude, two_way(x * x, C::p), magnitude);
    const Real<M> exponent = -horner(at_most(magnitude, 3.95f), C::h);  // beyond, the result is 1
    constexpr float shifter = L::shifter + L::bias;
    const Real<M> shifted = exponent + shifter;
    const Real<M> power = from_bits(to_bits(shifted) << L::mantissa_bits);
    const Real<M> p = exp2m1_reduced(exponent - (shifted - shifter));
    return with_sign_of(select(magnitude < 0.9f, small, fma(-p, power, 1.0f - power)), x);
  } else {
    return with_sign_of(select(magnitude < 0.75, erf_small(magnitude), 1.0 - erfc_large(magnitude).erfc), x);
  }
}

/// Complementary error function 1 - erf(x). Error below 0.6 (f32) and 1.8 ULP (f64).
template <Model M>
Real<M> erfc(Real<M> x) {
  if constexpr (is_f32<M>) {
    return narrow(x.m, erfc(widen(x)));
  } else {
    const Real<M> magnitude = abs(x);
    const Real<M> tail = erfc_large(magnitude).erfc;
    return select(magnitude < 0.5, 1.0 - with_sign_of(erf_small(magnitude), x),
                  select(x < 0.0, 2.0 - tail, tail));
  }
}

template <class Scalar>
struct InverseErrorConstants;

template <>
struct InverseErrorConstants<double> {
  // erfinv(x) / x = middle_0 + v middle(v) for w <= 5, v = w - 1; error 2^-28.7
  static constexpr double middle_0 = 0x1.209b9bb571be5p+0;
  static constexpr double middle[] = {0x1.fb8fceb596302p-3,   0x1.169330b565704p-8,  -0x1.377c6b1d725b1p-9,
                                      0x1.a3fd90acc563fp-14,  0x1.416c37131a5cep-15, -0x1.23aeaa182a2c7p-18,
                                      -0x1.40ab6116da284p-21, 0x1.6e54bd9c24bdfp-23, -0x1.db694dd8192c6p-27,
                                      0x1.737beeed6203ap-32};
  // = tail_0 + v tail(v) beyond, v = sqrt(w) - centre; error 2^-21.0
  static constexpr double centre = 4, tail_0 = 0x1.eb7e0af5f80a9p+1;
  static constexpr double tail[] = {0x1.026ece0a1296p+0,    0x1.49f54d9761fc9p-10,  -0x1.e286d616e0f65p-11,
                                    0x1.555bf0840eca2p-12,  -0x1.73df569988704p-15, 0x1.6a02f69b15a0cp-15,
                                    -0x1.3691c54175d85p-14, 0x1.01825615278f3p-15,  -0x1.1258fec47eacbp-21,
                                    -0x1.3fd1be03dac4ep-20};
};

template <>
struct InverseErrorConstants<float> {
  // erfinv(x) / x = middle_0 + v middle(v) for w <= 5, v = w - 1; error 2^-26.0
  static constexpr float middle_0 = 0x1.209b9cp+0f;
  static constexpr float middle[] = {0x1.fb8fcep-3f,   0x1.169056p-8f,  -0x1.3779f6p-9f,  0x1.a51d88p-14f,
                                     0x1.3fcp-15f,     -0x1.2869bp-18f, -0x1.ffbc62p-22f, 0x1.0422a8p-23f,
                                     -0x1.5b00dep-28f, -0x1.14606ap-32f};
  // = tail_0 + v tail(v) beyond, v = sqrt(w) - centre; error 2^-27.1
  static constexpr float centre = 3, tail_0 = 0x1.6a9efcp+1f;
  static constexpr float tail[] = {0x1.006dcap+0f,  0x1.357c08p-7f,  -0x1.f4e2acp-8f, 0x1.74fecp-8f,
                                   -0x1.d38f0cp-9f, 0x1.80715cp-10f, -0x1.eed63p-14f, -0x1.1ba544p-12f,
                                   0x1.4b2d6cp-13f, -0x1.fc9328p-16f};
};

/// erfinv(x) for 0 <= x < 1 by a polynomial in w = -log(1 - x^2) or in its root: Giles' variables (2010). For
/// f64 the start of an iteration.
template <Model M>
Real<M> erf_inv_polynomial(Real<M> x) {
  using T = typename M::Scalar;
  using C = InverseErrorConstants<T>;
  const auto [e, f] = reduce_binary(fma(-x, x, T(1)));
  const auto [high, low] = log_parts(e, f);
  const Real<M> w = -(high + low), middle = w - T(1), tail = square_root(w) - C::centre;
  const Mask<M> near = w < T(5);
  // The constant term meets x in the last operation, so that the rest may be rounded freely.
  const Real<M> rest = select(near, middle * anchored(middle, C::middle), tail * anchored(tail, C::tail));
  return fma(x, select(near, x.constant(C::middle_0), x.constant(C::tail_0)), x * rest);
}

/// Inverse of the error function, infinite at -1 and 1, NaN beyond. Error below 1.9 (f32) and 1.8 ULP (f64).
template <Model M>
Real<M> erf_inv(Real<M> x) {
  using T = typename M::Scalar;
  const Real<M> magnitude = abs(x);
  Real<M> result = magnitude;
  if constexpr (is_f32<M>) {
    result = erf_inv_polynomial(magnitude);
  } else {
    // One step of Halley's method, whose residual erf(y) - x is taken from the tail where x is near 1.
    const Real<M> y = erf_inv_polynomial(magnitude);
    const auto [erfc, gaussian] = erfc_large(y);
    const Real<M> residual = select(y < 0.6, erf_small(y) - magnitude, (1.0 - magnitude) - erfc);
    result = y - residual / fma(gaussian, ErrorConstants::two_over_root_pi, residual * y);
  }
  const Real<M> inside = select(magnitude == T(1), x.constant(Format<T>::infinity), result);
  return with_sign_of(select(magnitude <= T(1), inside, x.constant(Format<T>::nan)), x);
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_ERROR_FUNCTION_FUNCTIONS(X) \
  X(erf, 1, 1.3, 1.3, own)                \
  X(erfc, 1, 0.6, 1.8, wide)              \
  X(erf_inv, 1, 1.9, 1.8, own)
