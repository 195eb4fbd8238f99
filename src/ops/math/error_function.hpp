#pragma once

#include "ops/math/log.hpp"
#include "ops/math/rare.hpp"

// erf, erfc and the inverse of erf. Near 0 erf is x times a polynomial in x^2; further out erfc x is
// exp(-x^2) w(t) / (1 + 2 x), with w a polynomial in t = (x - c) / (x + c) (the form of Shepherd and
// Laframboise 1981), the square and the quotient carried as pairs.
namespace apsis::detail::math {

struct ErrorConstants {
  // erf(x) / x - 1 in x^2 for |x| <= 3/4; error 2^-56.2
  static constexpr double p[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379ffp-2,  0x1.ce2f21a0436d8p-4,
                                 -0x1.b82ce312a5a0bp-6,  0x1.565bcd0f1562p-8,    -0x1.c02db33b2d264p-11,
                                 0x1.f9a2ec271c8dfp-14,  -0x1.f4ca2df01a4b3p-17, 0x1.b93f03145181ap-20,
                                 -0x1.577d889cc2accp-23, 0x1.9088c46e4f345p-27};
};

/// (1 + 2 x) exp(x^2) erfc(x) = w0 + w0_low + t w(t) for 1/2 <= x <= farthest, where erfc has vanished; t =
/// (x - centre) / (x + centre).
template <class Scalar>
struct ScaledErfc;
template <>
struct ScaledErfc<double> {
  static constexpr double centre = 3, farthest = 28;  // error 2^-59.4
  static constexpr double w0 = 0x1.40c522d7e4987p+0, w0_low = 0x1.a19969d5cf11fp-55;
  static constexpr double w[] = {
      -0x1.15c084bb9e8f3p-3,  -0x1.85a15c58aa5dfp-5,  0x1.098366a5b46d2p-3,  -0x1.e88b803a49263p-4,
      0x1.17ca2877f0b68p-4,   -0x1.8574c40bccd4ap-6,  0x1.4b884e44df46ap-9,  0x1.ef1bdd4078999p-10,
      -0x1.98db51315445ap-11, -0x1.b9126da791ed7p-14, 0x1.065a39c6c6b84p-13, 0x1.4c21793e333cap-18,
      -0x1.513b8bc366215p-16, -0x1.87d9e5858b225p-21, 0x1.d208d0eee4268p-19, 0x1.7a30836851e8bp-22,
      -0x1.4a76a2f166aecp-21, -0x1.1ed0f4df2b997p-23, 0x1.ab6e4b30e00f1p-24, 0x1.204dcf44f3e1ep-25,
      -0x1.77508ca0bc4ebp-27, -0x1.182aee779ae92p-28};
};
template <>
struct ScaledErfc<float> {
  static constexpr float centre = 1.5f, farthest = 10.1f;  // error 2^-29.8
  static constexpr float w0 = 0x1.494dbp+0f, w0_low = 0;
  static constexpr float w[] = {-0x1.16388cp-5f, -0x1.e6e31p-3f,  0x1.d3604ep-4f,  0x1.587494p-6f,
                                -0x1.275cc6p-6f, -0x1.e7451cp-8f, 0x1.e245ecp-10f, 0x1.4fedep-9f,
                                0x1.877b84p-12f, -0x1.71e092p-11f};
};

/// erf(x) for 0 <= x <= 3/4.
template <Model M>
Real<M> erf_small(Real<M> x) {
  return fma(x, anchored(x * x, ErrorConstants::p), x);
}

/// erfc(x) for x >= 1/2.
template <Model M>
Real<M> erfc_large(Real<M> x) {
  using T = typename M::Scalar;
  using C = ScaledErfc<T>;
  using E = ExpConstants<T>;
  const Real<M> bounded = at_most(x, C::farthest);
  const auto [divisor, divisor_low] = fast_two_sum(bounded + bounded, x.constant(1));
  const Real<M> t = (bounded - C::centre) / (bounded + C::centre), inverse = T(1) / divisor;
  const auto [w, w_low] = fast_two_sum(x.constant(C::w0), t * anchored(t, C::w));
  const Real<M> quotient = w * inverse;
  const Real<M> quotient_low =
      fma(-quotient, divisor_low, fma(-quotient, divisor, w) + (w_low + C::w0_low)) * inverse;
  const auto [square, square_low] = two_product(bounded, bounded);
  // -x^2 = k ln 2 + r + r_low
  constexpr T shifter = Format<T>::shifter + 2 * Format<T>::bias;
  const Real<M> shifted = fma(square, -E::log2_e, shifter);
  const Real<M> k = shifted - shifter;
  const auto [r, r_low] = fast_two_sum(fma(k, -E::ln2_high, -square), fma(k, -E::ln2_low, -square_low));
  const Real<M> r_square = r * r;
  const Real<M> curved = fma(r_square, two_way(r, r_square, E::q), r_low);  // e^(r + r_low) - 1 - r
  const Real<M> unscaled = quotient + fma(r, quotient, fma(curved, quotient, quotient_low));
  const auto [first, second] = split_power(k, shifted);
  return unscaled * first * second;
}

struct ErrorConstantsF32 {
  // erf(x) / x - 1 in x^2 for |x| <= 0.9; error 2^-29.9
  static constexpr float p[] = {0x1.06eba8p-3f, -0x1.812742p-2f,  0x1.ce2dfap-4f, -0x1.b80ee6p-6f,
                                0x1.54d574p-8f, -0x1.aafa6ap-11f, 0x1.5ff302p-14f};
  // -log2 erfc(x) on [0.89, 3.95]; error 2^-28.6 of erf(x)
  static constexpr float h[] = {0x1.ef5bp-13f,   0x1.a0886cp+0f, 0x1.d67f9p-1f,  0x1.33a602p-3f,
                                -0x1.07c79ep-5f, 0x1.21e836p-8f, -0x1.2bf0bp-12f};
};

/// erf(x) for 0 <= x <= 0.9.
template <Model M>
Real<M> erf_small_f32(Real<M> x) {
  return fma(x, two_way(x * x, ErrorConstantsF32::p), x);
}

/// Error function. Error below 1.3 ULP.
template <Model M>
Real<M> erf(Real<M> x) {
  const Real<M> magnitude = abs(x);
  if constexpr (is_f32<M>) {
    using C = ErrorConstantsF32;
    using L = Format<float>;
    const Real<M> small = erf_small_f32(magnitude);
    const Real<M> exponent = -horner(at_most(magnitude, 3.95f), C::h);  // beyond, the result is 1
    constexpr float shifter = L::shifter + L::bias;
    const Real<M> shifted = exponent + shifter;
    const Real<M> power = from_bits(to_bits(shifted) << L::mantissa_bits);
    const Real<M> p = exp2m1_reduced(exponent - (shifted - shifter));
    return with_sign_of(select(magnitude < 0.9f, small, fma(-p, power, 1.0f - power)), x);
  } else {
    return with_sign_of(select(magnitude < 0.75, erf_small(magnitude), 1.0 - erfc_large(magnitude)), x);
  }
}

/// Complementary error function 1 - erf(x). Error below 2 (f32) and 1.8 ULP.
template <Model M>
Real<M> erfc(Real<M> x) {
  using T = typename M::Scalar;
  const Real<M> magnitude = abs(x);
  const Real<M> tail = erfc_large(magnitude);
  Real<M> small = magnitude;
  if constexpr (is_f32<M>)
    small = erf_small_f32(magnitude);
  else
    small = erf_small(magnitude);
  return select(magnitude < T(0.5), T(1) - with_sign_of(small, x), select(x < T(0), T(2) - tail, tail));
}

struct InverseErrorConstants {
  static constexpr double far = 0.99903;
  // erfinv(x) / x = middle_0 + middle_0_low + v middle(v) for w <= 6.25, v = w - 1; error 2^-59.3
  static constexpr double middle_0 = 0x1.209b9bb73e395p+0, middle_0_low = -0x1.aff2a7f28f864p-55;
  static constexpr double middle[] = {
      0x1.fb8fccc60652p-3,    0x1.16931130facb6p-8,   -0x1.3779be7c1cf36p-9,  0x1.a3f0f04a45498p-14,
      0x1.4075e5804bc52p-15,  -0x1.1eee00dacef71p-18, -0x1.2f73f6a67ffb4p-21, 0x1.06ac917ba16b1p-23,
      0x1.9f13072a71dap-28,   -0x1.9fa40415cd717p-29, 0x1.23efef694c317p-36,  0x1.293f6001568e4p-34,
      -0x1.069be5372ff95p-38, -0x1.7e5b79a7656b8p-40, 0x1.52c0922ac748cp-43,  0x1.a325fbf035dacp-46,
      -0x1.e063ce6e52ecep-49, -0x1.40946ff7ac808p-50, 0x1.bec43371929b7p-52,  -0x1.ee9c67412d7b6p-55,
      0x1.05ecadda722c5p-58,  -0x1.753949f454611p-67, -0x1.3ea7d588e2b91p-66, 0x1.6a0e806a9b878p-70,
      -0x1.185057ac10bfp-75};
  // = tail_0 + tail_0_low + v + v tail(v) for w >= 6.245, v = sqrt(w) - 4; error 2^-58.2
  static constexpr double tail_0 = 0x1.eb7e0914cbf1bp+1, tail_0_low = -0x1.b9b071eda3deap-53;
  static constexpr double tail[] = {
      0x1.37132e1c62000p-7,   0x1.4a42eb3d88253p-10,  -0x1.c79a1b11b375bp-11, 0x1.508bb6b23e68cp-12,
      -0x1.ee5c5af361a9fp-14, 0x1.d3090acba8ac4p-15,  -0x1.110ad7f542a8ep-15, 0x1.3944080d6edc2p-16,
      -0x1.29f34caeb727p-17,  0x1.94a4f2cc6e7edp-19,  -0x1.be754a100a83bp-22, -0x1.271533a58be89p-22,
      0x1.00b6fb190455dp-22,  -0x1.921a8b4617268p-24, 0x1.017c1aaebb867p-26,  0x1.79b441d239f8ep-28,
      -0x1.42f39e0c4696bp-28, 0x1.a1bb5fe528542p-30,  -0x1.2dd922e6c12fp-33,  -0x1.a88f339e89a7cp-34,
      0x1.af4ff634de65ep-35,  -0x1.b1dacdb201f0cp-37, 0x1.67c237990368ap-39,  -0x1.057033e7c7a55p-43,
      -0x1.06bd4e5e44065p-41, 0x1.13d3e63e1e7d8p-42,  -0x1.1afaf99c2e699p-45, -0x1.8ab716d444c4ep-47,
      0x1.23e08c22a7e0cp-48,  -0x1.bdd63ceb155cfp-52};
};

struct InverseErrorConstantsF32 {
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

// Inverse of erf for 0 <= x < 1 by a polynomial in w = -log(1 - x^2) or in its root: Giles' variables (2010).
// The constant term is added last, so that the rest may be rounded freely.
template <Model M>
Real<M> erf_inv_f32(Real<M> x) {
  using C = InverseErrorConstantsF32;
  const auto [e, f] = reduce_binary(fma(-x, x, 1.0f));
  const auto [high, low] = log_parts(e, f);
  const Real<M> w = -(high + low), middle = w - 1.0f, tail = square_root(w) - C::centre;
  const Mask<M> near = w < 5.0f;
  const Real<M> rest = select(near, middle * anchored(middle, C::middle), tail * anchored(tail, C::tail));
  return fma(x, select(near, x.constant(C::middle_0), x.constant(C::tail_0)), x * rest);
}

template <Model M>
Real<M> erf_inv_near(Real<M> x) {
  using C = InverseErrorConstants;
  const auto [e, f] = reduce_binary(fma(-x, x, 1.0));
  const auto [high, low] = log_parts(e, f);
  const Real<M> middle = -(high + low) - 1.0;
  const Real<M> rest = fma(middle, estrin(middle, middle * middle, C::middle), C::middle_0_low);
  const auto [sum, sum_low] = fast_two_sum(x.constant(C::middle_0), rest);
  return fma(x, sum, x * sum_low);
}

/// The same from `far` on.
template <Model M>
Real<M> erf_inv_tail(Real<M> x) {
  using C = InverseErrorConstants;
  const auto [e, f] = reduce_binary(fma(-x, x, 1.0));
  const auto [high, low] = log_parts(e, f);
  const Real<M> w = -(high + low), root = square_root(w), tail = root - 4.0;
  const Real<M> root_low = (fma(-root, root, w) - ((high + w) + low)) * (0.5 / root);
  // The slope in the root is near 1.
  const Real<M> rest = tail + fma(tail, estrin(tail, tail * tail, C::tail), root_low + C::tail_0_low);
  const auto [sum, sum_low] = fast_two_sum(x.constant(C::tail_0), rest);
  return fma(x, sum, x * sum_low);
}

/// Inverse of the error function, infinite at -1 and 1, NaN beyond. Error below 1.9 (f32) and 1.8 ULP (f64).
template <Model M>
Real<M> erf_inv(Real<M> x) {
  const Real<M> magnitude = abs(x);
  if constexpr (is_f32<M>) {
    const Real<M> inside =
        select(magnitude == 1.0f, x.constant(Format<float>::infinity), erf_inv_f32(magnitude));
    return with_sign_of(select(magnitude <= 1.0f, inside, x.constant(Format<float>::nan)), x);
  } else {
    // Of uniform numbers one in a thousand is beyond.
    const Mask<M> beyond = !(magnitude < InverseErrorConstants::far);
    return with_sign_of(rare(beyond, rare_erf_inv, magnitude, erf_inv_near(magnitude)), x);
  }
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_ERROR_FUNCTION_FUNCTIONS(X) \
  X(erf, 1, 1.3, 1.3, own)                \
  X(erfc, 1, 2.0, 1.8, own)               \
  X(erf_inv, 1, 1.9, 1.8, own)
