#pragma once

#include "ops/math/value.hpp"

// exp, exp2 and expm1: x = k ln 2 + r (Cody and Waite 1980, with fma), a minimax polynomial on |r| <= ln 2 /
// 2, and scaling through the exponent field.
namespace apsis::detail::math {

template <class Scalar>
struct ExpConstants;

template <>
struct ExpConstants<double> {
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1;  // 42 bits: k * ln2_high is exact
  static constexpr double ln2_low = 0x1.ef35793c7673p-45;
  // Beyond these bounds the result is 0 or infinite.
  static constexpr double lowest = -746, highest = 710;
  // (exp(r) - 1 - r) / r^2; error 2^-55.6 of expm1(r)
  static constexpr double q[] = {0x1.0000000000005p-1,  0x1.555555555555bp-3,  0x1.55555555520d7p-5,
                                 0x1.111111110ec53p-7,  0x1.6c16c17f42c4ep-10, 0x1.a01a01b3eae11p-13,
                                 0x1.a019a65b867c3p-16, 0x1.71ddee6fdf3e5p-19, 0x1.28a2dbf16b785p-22,
                                 0x1.af6f8cb7c3dfp-26};
  // Beyond these bounds exp2 is 0 or infinite.
  static constexpr double lowest2 = -1076, highest2 = 1025;
  static constexpr double ln2 = 0x1.62e42fefa39efp-1;
  // ((2^r - 1) / r - ln2) / r on |r| <= 1/2; error 2^-59.7 of 2^r
  static constexpr double q2[] = {0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a1c8p-5,  0x1.3b2ab6fba4d7fp-7,
                                  0x1.5d87fe787803cp-10, 0x1.430912f8a8751p-13, 0x1.ffcbfd32f25d4p-17,
                                  0x1.62c0216afc5edp-20, 0x1.b52366aadc406p-24, 0x1.e4d1d763a61ep-28,
                                  0x1.ec1c0382064a9p-32, 0x1.c12c6673049b7p-36};
  // (exp(r) - 1 - r) / r^2 on |r| <= 0.53; error 2^-59.8 of expm1(r)
  static constexpr double q_expm1[] = {0x1p-1,
                                       0x1.5555555555555p-3,
                                       0x1.55555555555d2p-5,
                                       0x1.111111111122bp-7,
                                       0x1.6c16c16bee918p-10,
                                       0x1.a01a019fc8379p-13,
                                       0x1.a01a023051916p-16,
                                       0x1.71de3b0a2dc3ap-19,
                                       0x1.27e410f372d8cp-22,
                                       0x1.ae62b89f09449p-26,
                                       0x1.204fc494c4e13p-29,
                                       0x1.62fed240e1e25p-33};
};

template <>
struct ExpConstants<float> {
  static constexpr float log2_e = 0x1.715476p+0f;
  static constexpr float ln2_high = 0x1.62e4p-1f;  // 15 bits
  static constexpr float ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float lowest = -105, highest = 89;
  // error 2^-26.1 of expm1(r)
  static constexpr float q[] = {0x1p-1f, 0x1.5554aep-3f, 0x1.5554e4p-5f, 0x1.12292cp-7f, 0x1.6d5206p-10f};
  static constexpr float lowest2 = -151, highest2 = 129;
  static constexpr float ln2 = 0x1.62e43p-1f;
  // error 2^-32.5
  static constexpr float q2[] = {0x1.ebfbep-3f,   0x1.c6b074p-5f,  0x1.3b2a5ap-7f,
                                 0x1.5d9cd8p-10f, 0x1.44116cp-13f, 0x1.ec3e3cp-17f};
  // error 2^-27.7
  static constexpr float q_expm1[] = {0x1.000002p-1f, 0x1.555558p-3f,  0x1.5551bcp-5f,
                                      0x1.110e4p-7f,  0x1.6f4c06p-10f, 0x1.a3b512p-13f};
};

/// x = k ln 2 + r. `shifted` holds k + offset in its low bits.
template <Model M>
struct ExpReduction {
  Real<M> k, r, shifted;
};

template <Model M>
ExpReduction<M> reduce_ln2(Real<M> x, typename M::Scalar offset) {
  using C = ExpConstants<typename M::Scalar>;
  const auto shifter = Format<typename M::Scalar>::shifter + offset;
  const Real<M> shifted = fma(x, C::log2_e, shifter);
  const Real<M> k = shifted - shifter;
  const Real<M> r = fma(k, -C::ln2_low, fma(k, -C::ln2_high, x));
  return {k, r, shifted};
}

/// exp(r) - 1 for |r| <= ln 2 / 2.
template <Model M>
Real<M> expm1_reduced(Real<M> r) {
  using C = ExpConstants<typename M::Scalar>;
  const Real<M> square = r * r;
  if constexpr (is_f32<M>) {
    return fma(square, two_way(r, square, C::q), r);
  } else {
    // The low terms are added to r while the high ones are summed.
    const Real<M> fourth = square * square;
    const Real<M> low = fma(square, fma(square, fma(r, C::q[3], C::q[2]), fma(r, C::q[1], C::q[0])), r);
    const Real<M> high = fma(fourth, fma(r, C::q[9], C::q[8]),
                             fma(square, fma(r, C::q[7], C::q[6]), fma(r, C::q[5], C::q[4])));
    return fma(fourth * square, high, low);
  }
}

/// 2^r - 1 for |r| <= 1/2.
template <Model M>
Real<M> exp2m1_reduced(Real<M> r) {
  using C = ExpConstants<typename M::Scalar>;
  return fma(r, C::ln2, r * (r * two_way(r, C::q2)));
}

/// 2^k as a product of two powers, with k + 2 bias in the low bits of `shifted`. Scaling in two halves,
/// subnormal results are rounded once more at most and results near the largest do not overflow early.
template <Model M>
struct PowerOfTwo {
  Real<M> first, second;
};

template <Model M>
PowerOfTwo<M> split_power(Real<M> k, Real<M> shifted) {
  using L = Format<typename M::Scalar>;
  const Real<M> half = fma(k, typename M::Scalar(0.5), L::shifter + L::bias);
  return {from_bits(to_bits(half) << L::mantissa_bits),
          from_bits((to_bits(shifted) - to_bits(half)) << L::mantissa_bits)};
}

/// (1 + p) 2^k, with k + 2 bias in the low bits of `shifted`; k is such that nothing underflows.
template <Model M>
Real<M> scale_by_large_power(Real<M> p, Real<M> k, Real<M> shifted) {
  const auto [first, second] = split_power(k, shifted);
  return fma(p, first, first) * second;
}

/// The same for every k. A product that underflows takes processors a hundred cycles. Added to the smallest
/// normal number it is rounded in the same way, and does not; the bits of the two numbers then differ by its
/// own.
template <Model M>
Real<M> scale_by_power(Real<M> p, Real<M> k, Real<M> shifted) {
  using T = typename M::Scalar;
  using L = Format<T>;
  const Mask<M> small = k < T(1 - L::bias);
  const auto [first, second] = split_power(k, shifted);
  const Real<M> sum = fma(fma(p, first, first), second, select(small, L::smallest_normal, k.constant(0)));
  return select(small, from_bits(to_bits(sum) - std::bit_cast<typename L::Integer>(L::smallest_normal)), sum);
}

/// e^x. Error below 1.2 ULP.
template <Model M>
Real<M> exp(Real<M> x) {
  using C = ExpConstants<typename M::Scalar>;
  const Real<M> bounded = at_least(at_most(x, C::highest), C::lowest);
  const auto [k, r, shifted] = reduce_ln2(bounded, typename M::Scalar(2 * Format<typename M::Scalar>::bias));
  return scale_by_power(expm1_reduced(r), k, shifted);
}

/// 2^x. Error below 1 ULP; exact where x is an integer.
template <Model M>
Real<M> exp2(Real<M> x) {
  using C = ExpConstants<typename M::Scalar>;
  using L = Format<typename M::Scalar>;
  const Real<M> bounded = at_least(at_most(x, C::highest2), C::lowest2);
  const auto shifter = L::shifter + typename M::Scalar(2 * L::bias);
  const Real<M> shifted = bounded + shifter;
  const Real<M> k = shifted - shifter;
  const Real<M> r = bounded - k;
  return scale_by_power(exp2m1_reduced(r), k, shifted);
}

/// e^x - 1. Error below 1.7 ULP.
template <Model M>
Real<M> expm1(Real<M> x) {
  using T = typename M::Scalar;
  using C = ExpConstants<T>;
  using L = Format<T>;
  // e^-50 is below a quarter ULP of 1.
  const Real<M> bounded = at_least(at_most(x, C::highest), T(-50));
  constexpr T shifter = L::shifter + T(L::bias - 1);
  const Real<M> nearest = fma(bounded, C::log2_e, shifter);
  // k = 0 up to 0.52, where 2^k (1 + p) - 1 would lose digits for k = 1.
  const Mask<M> small = abs(x) < T(0.52);
  const Real<M> shifted = select(small, shifter, nearest);
  const Real<M> k = shifted - shifter;
  const Real<M> r = fma(k, -C::ln2_low, fma(k, -C::ln2_high, bounded));
  const Real<M> square = r * r;
  const Real<M> p = fma(square, two_way(r, square, C::q_expm1), r);
  // With 2^(k-1) for 2^k nothing overflows before its time.
  const Real<M> half_power = from_bits(to_bits(shifted) << L::mantissa_bits);
  const Real<M> half = fma(p, half_power, half_power - T(0.5));
  return copysign(select(small, p, half + half), x);
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_EXP_FUNCTIONS(X) \
  X(exp, 1, 1.2, 1.2, own)     \
  X(exp2, 1, 1, 1, own)        \
  X(expm1, 1, 1.7, 1.7, own)
