#pragma once

#include "ops/math/exp.hpp"
#include "ops/math/log.hpp"

// pow, sqrt and rsqrt. pow(x, y) = 2^(y log2 |x|), with log2 |x| = e + s (c0 + c1 z + z^2 p(z)), s = f / (2 + f),
// z = s^2, to 70 bits: in double-double for f64, in f64 for f32.
namespace apsis::detail::math {

/// A number as an unevaluated sum.
template <Model M>
struct Pair {
  Real<M> high, low;
};

/// a + b for |a| >= |b| or a = 0 (Dekker 1971).
template <Model M>
Pair<M> fast_two_sum(Real<M> a, Real<M> b) {
  const Real<M> sum = a + b;
  return {sum, b - (sum - a)};
}

template <Model M>
Pair<M> two_product(Real<M> a, Real<M> b) {
  const Real<M> product = a * b;
  return {product, fma(a, b, -product)};
}

struct PowerConstants {
  static constexpr double c0_high = 0x1.71547652b82fep+1, c0_low = 0x1.777d0ffda0d24p-55;
  static constexpr double c1_high = 0x1.ec709dc3a03fdp-1, c1_low = 0x1.d27f05548af0cp-55;
  // error 2^-71.9 of log2(1 + f)
  static constexpr double p[] = {0x1.2776c50ef9bfcp-1, 0x1.a61762a7aede4p-2, 0x1.484b13d6ac4e8p-2,
                                 0x1.0c9a853b550ffp-2, 0x1.c68ee923d5971p-3, 0x1.8a09c1be1ca43p-3,
                                 0x1.58fbf40c7a718p-3, 0x1.61f84b3854daap-3};
  // log2(1 + f) = s (c0 + z p(z)) for f32; error 2^-35.9
  static constexpr double p_f32[] = {0x1.ec709d4453bd4p-1, 0x1.277768070600ap-1, 0x1.a595f9c307277p-2,
                                     0x1.5c6a66c944ea1p-2};
  // (2^r - 1) / r on |r| <= 1/2 for f32; error 2^-29
  static constexpr double q_f32[] = {0x1.62e430cfe08cep-1, 0x1.ebfbe0b000e28p-3,  0x1.c6aecc3ee3ce8p-5,
                                     0x1.3b29c4ad47f12p-7, 0x1.5f48eb83d801ap-10, 0x1.447eba5ea9a94p-13};
};

/// e + log2(1 + f) to 70 bits.
template <Model M>
Pair<M> log2_pair(Real<M> e, Real<M> f) {
  using C = PowerConstants;
  // s = f / (2 + f) with the remainder of the division; 2 + f is m + 1 with m = 1 + f.
  const auto [d, d_low] = fast_two_sum(f.constant(2), f);
  const Real<M> reciprocal = 1 / d;
  const Real<M> s = f * reciprocal;
  const Real<M> s_low = fma(-s, d_low, fma(-s, d, f)) * reciprocal;
  const auto [z, z_rounding] = two_product(s, s);
  const Real<M> z_low = fma(s + s, s_low, z_rounding);
  const auto [linear, linear_rounding] = two_product(z, z.constant(C::c1_high));
  const auto [rest, rest_low] = fast_two_sum(
      linear, fma(z_low, C::c1_high, fma(z, C::c1_low, fma(z * z, two_way(z, C::p), linear_rounding))));
  const auto [u, u_rounding] = fast_two_sum(z.constant(C::c0_high), rest);
  const Real<M> u_low = u_rounding + (rest_low + C::c0_low);
  const auto [product, product_rounding] = two_product(s, u);
  const Real<M> product_low = fma(s, u_low, fma(s_low, u, product_rounding));
  const auto [high, rounding] = fast_two_sum(e, product);
  return {high, rounding + product_low};
}

/// |x|^y for finite positive |x|.
template <Model M>
Real<M> power_of_magnitude(Real<M> magnitude, Real<M> y) {
  using C = PowerConstants;
  const auto [e, f] = reduce_binary(magnitude);
  if constexpr (is_f32<M>) {
    const auto wide_f = widen(f);
    const auto s = wide_f / (wide_f + 2.0);
    const auto z = s * s;
    const auto log2 = fma(s, fma(z, horner(z, C::p_f32), C::c0_high), widen(e));
    const auto exponent = at_least(at_most(widen(y), 1e40), -1e40);
    const auto product = at_least(at_most(exponent * log2, 200.0), -200.0);
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

/// x^y with the special values of IEEE 754 (pow). Error below 1 ULP.
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

}  // namespace apsis::detail::math
