#pragma once

#include "ops/math/exp.hpp"
#include "ops/math/log.hpp"

// Roots and powers. pow(x, y) = 2^(y log2 |x|) with the logarithm as a pair for f64, in f64 for f32.
namespace apsis::detail::math {

struct PowerConstants {
  // (2^r - 1) / r on |r| <= 1/2 for f32; error 2^-29.0
  static constexpr double q_f32[] = {0x1.62e430cfe08cep-1, 0x1.ebfbe0afec1a2p-3,  0x1.c6aecbe91a4aep-5,
                                     0x1.3b29c67f3db88p-7, 0x1.5f4929b9aa3e6p-10, 0x1.447cc4b185045p-13};
};

/// |x|^y for finite positive |x|.
template <Model M>
Real<M> power_of_magnitude(Real<M> magnitude, Real<M> y) {
  using C = PowerConstants;
  const auto [e, f] = reduce_binary(magnitude);
  if constexpr (is_f32<M>) {
    const auto exponent = at_least(at_most(widen(y), 1e40), -1e40);
    const auto product = at_least(at_most(exponent * log2_wide(e, f), 200.0), -200.0);
    constexpr double shifter = Format<double>::shifter + Format<double>::bias;
    const auto shifted = product + shifter;
    const auto r = product - (shifted - shifter);
    const auto power = from_bits(to_bits(shifted) << Format<double>::mantissa_bits);
    return narrow(magnitude.m, fma(r * two_way(r, C::q_f32), power, power));
  } else {
    const auto [log2, log2_low] = log2_pair(e, f);
    // Beyond 2^66 every power but those of 1 overflows or vanishes; the bounds keep the pair finite.
    const Real<M> exponent = at_least(at_most(y, 0x1p66), -0x1p66);
    const Real<M> product = exponent * log2;
    const Real<M> product_low = fma(exponent, log2_low, fma(exponent, log2, -product));
    const Real<M> bounded = at_least(at_most(product, 1100.0), -1100.0);
    constexpr double shifter = Format<double>::shifter + 2 * Format<double>::bias;
    const Real<M> shifted = bounded + shifter;
    const Real<M> k = shifted - shifter;
    const Real<M> r = (bounded - k) + at_least(at_most(product_low, 1.0), -1.0);
    return scale_by_power(exp2m1_reduced(r), k, shifted);
  }
}

/// x^y with the special values of IEEE 754 (pow). Error below 0.6 (f32) and 1.5 ULP (f64).
template <Model M>
Real<M> pow(Real<M> x, Real<M> y) {
  using T = typename M::Scalar;
  using L = Format<T>;
  const Real<M> magnitude = abs(x);
  const Mask<M> zero = magnitude == T(0), infinite = magnitude == L::infinity;
  const Real<M> limit = select(select(zero, -y, y) < T(0), T(0), x.constant(L::infinity));
  const Real<M> size = select(zero | infinite, limit, power_of_magnitude(magnitude, y));
  const Real<M> half = y * T(0.5);
  const Mask<M> integer = rint(y) == y, odd = integer & (rint(half) != half);
  const Real<M> signed_size = select(odd, with_sign_of(size, x), size);
  const Mask<M> undefined = (x != x) | (y != y) | ((x < T(0)) & !(integer | infinite));
  return select((x == T(1)) | (y == T(0)), T(1), select(undefined, L::nan, signed_size));
}

/// Square root, correctly rounded.
template <Model M>
Real<M> sqrt(Real<M> x) {
  return square_root(x);
}

/// 1 / sqrt(x). Error below 1.6 ULP.
template <Model M>
Real<M> rsqrt(Real<M> x) {
  return typename M::Scalar(1) / square_root(x);
}

template <class Scalar>
struct CubeRootConstants;

template <>
struct CubeRootConstants<double> {
  // m^(-1/3) on [sqrt(1/2), sqrt(2)]; error 2^-17.4
  static constexpr double p[] = {0x1.ffc814a95ed3ap+0,  -0x1.3e2d1615948cp+1, 0x1.65592c0e6254cp+1,
                                 -0x1.e5cb09920ccf7p+0, 0x1.66a24c10847d4p-1, -0x1.ba61c3fbdb4c1p-4};
};

template <>
struct CubeRootConstants<float> {
  // error 2^-11.9
  static constexpr float p[] = {0x1.bb0e3cp+0f, -0x1.491b7cp+0f, 0x1.6d1d12p-1f, -0x1.447f1cp-3f};
};

/// Cube root, of negative numbers too. Error below 0.6 ULP.
template <Model M>
Real<M> cbrt(Real<M> x) {
  using T = typename M::Scalar;
  using L = Format<T>;
  const Real<M> magnitude = abs(x);
  const auto [e, f] = reduce_binary(magnitude);
  const Real<M> m = f + T(1);
  // e = 3 third + rest, rest one of -1, 0, 1
  constexpr T shifter = L::shifter + T(L::bias);
  const Real<M> shifted = fma(e, T(1.0 / 3), shifter);
  const Real<M> rest = fma(shifted - shifter, T(-3), e);
  const Mask<M> less = rest<T(0), more = rest> T(0);
  const Real<M> scaled = m * select(less, x.constant(T(0.5)), select(more, x.constant(2), x.constant(1)));
  const Real<M> factor = select(less, x.constant(T(0x1.428a2f98d728bp+0)),
                                select(more, x.constant(T(0x1.965fea53d6e3dp-1)), x.constant(1)));
  // Two terms of Newton's series for m^(-1/3), then one step on the root itself with the residual of its cube
  // exact.
  const Real<M> y = horner(m, CubeRootConstants<T>::p) * factor;
  const Real<M> h = fma(-(scaled * y), y * y, T(1));
  const Real<M> inverse = fma(y * h, fma(h, T(2.0 / 9), T(1.0 / 3)), y);
  const Real<M> inverse_square = inverse * inverse;
  const Real<M> root = scaled * inverse_square;
  const Real<M> square = root * root;
  const Real<M> residual = fma(square, root, -scaled) + fma(root, root, -square) * root;
  const Real<M> corrected = fma(residual * inverse_square, T(-1.0 / 3), root);
  const Real<M> result = corrected * from_bits(to_bits(shifted) << L::mantissa_bits);
  return select((magnitude == T(0)) | !(magnitude < L::infinity), x, with_sign_of(result, x));
}

template <class Scalar>
struct HypotConstants;

template <>
struct HypotConstants<double> {
  // Beyond these bounds squares are taken of scaled numbers.
  static constexpr double large = 0x1p500, small = 0x1p-450, down = 0x1p-600, up = 0x1p600;
};

template <>
struct HypotConstants<float> {
  static constexpr float large = 0x1p60f, small = 0x1p-50f, down = 0x1p-100f, up = 0x1p100f;
};

/// sqrt(x^2 + y^2) without overflow or underflow on the way; infinite where x or y is. Error below 1.1 ULP.
template <Model M>
Real<M> hypot(Real<M> x, Real<M> y) {
  using T = typename M::Scalar;
  using L = Format<T>;
  using C = HypotConstants<T>;
  const Real<M> ax = abs(x), ay = abs(y);
  const Mask<M> swapped = ax < ay;
  const Real<M> more = select(swapped, ay, ax), less = select(swapped, ax, ay);
  const Mask<M> large = more > C::large, small = more < C::small;
  const Real<M> scale = select(large, C::down, select(small, x.constant(C::up), x.constant(1)));
  const Real<M> inverse = select(large, C::up, select(small, x.constant(C::down), x.constant(1)));
  const Real<M> a = more * scale, b = less * scale;
  const Real<M> result = square_root(fma(a, a, b * b)) * inverse;
  return select((ax == L::infinity) | (ay == L::infinity), L::infinity, result);
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_POWER_FUNCTIONS(X) \
  X(sqrt, 1, 0.5, 0.5, none)     \
  X(rsqrt, 1, 1.6, 1.6, none)    \
  X(cbrt, 1, 0.6, 0.6, own)      \
  X(hypot, 2, 1.1, 1.1, own)     \
  X(pow, 2, 0.6, 1.5, wide)
