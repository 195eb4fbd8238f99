#pragma once

#include "ops/math/exp.hpp"
#include "ops/math/pair.hpp"

// Logarithms: x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), from the bits.
namespace apsis::detail::math {

template <class Scalar>
struct LogConstants;

template <>
struct LogConstants<double> {
  static constexpr std::int64_t sqrt_half = 0x3fe6a09e667f3bcd;
  // (log(1 + f) - f + f^2/2) / f^3; error 2^-56.5 of log(1 + f)
  static constexpr double q[] = {
      0x1.5555555555546p-2, -0x1.fffffffffee57p-3, 0x1.999999999c0ep-3,  -0x1.5555555673a5dp-3,
      0x1.249249244302p-3,  -0x1.ffffff28bf7ffp-4, 0x1.c71c712247858p-4, -0x1.9999c25daecffp-4,
      0x1.745d5706b79afp-4, -0x1.555104330efb7p-4, 0x1.3b09cc7b14d17p-4, -0x1.24d47a143721p-4,
      0x1.11df1c5119823p-4, -0x1.fbf726245d101p-5, 0x1.cfa5e58178709p-5, -0x1.ceac37a4a4adbp-5,
      0x1.0aa2452e0b759p-4, -0x1.f1242badaf87ep-5, 0x1.b826df35c0085p-6};
};

template <>
struct LogConstants<float> {
  static constexpr std::int32_t sqrt_half = 0x3f3504f3;
  // (log(1 + f) - f + f^2/2) / f^3; error 2^-27.3 of log(1 + f)
  static constexpr float q[] = {0x1.55554ap-2f, -0x1.000226p-2f, 0x1.99a59cp-3f, -0x1.5476d8p-3f,
                                0x1.226dc6p-3f, -0x1.0cf144p-3f, 0x1.07d8dcp-3f, -0x1.41a2dcp-4f};
};

template <Model M>
struct LogReduction {
  Real<M> e, f;
};

/// For positive finite x.
template <Model M>
LogReduction<M> reduce_binary(Real<M> x) {
  using T = typename M::Scalar;
  using L = Format<T>;
  constexpr auto sqrt_half = LogConstants<T>::sqrt_half;
  constexpr T integer_one =
      T(typename L::Integer{1} << L::mantissa_bits);  // OR-ing n to its bits gives it plus n
  constexpr T lift = T(typename L::Integer{1} << (L::mantissa_bits + 1));
  const Real<M> normal = select(x < L::smallest_normal, x * lift, x);
  const Real<M> offset = select(normal == x, x.constant(integer_one + T(L::bias)),
                                x.constant(integer_one + T(L::bias + L::mantissa_bits + 1)));
  const Integer<M> from_sqrt_half = to_bits(normal) + (std::bit_cast<typename L::Integer>(T(1)) - sqrt_half);
  const Real<M> e =
      from_bits((from_sqrt_half >> L::mantissa_bits) | std::bit_cast<typename L::Integer>(integer_one)) -
      offset;
  const Real<M> f = from_bits((from_sqrt_half & L::mantissa_mask) + sqrt_half) - T(1);
  return {e, f};
}

/// e ln 2 + log(1 + f) as a sum; for f64, what does not wait for the polynomial is in the first part.
template <Model M>
Pair<M> log_parts(Real<M> e, Real<M> f) {
  using T = typename M::Scalar;
  using C = LogConstants<T>;
  using E = ExpConstants<T>;
  const Real<M> square = f * f, scaled = e * E::ln2_high;  // which is exact
  if constexpr (is_f32<M>) {
    return {scaled, f + fma(square, fma(f, two_way(f, square, C::q), T(-0.5)), e * E::ln2_low)};
  } else {
    const auto [high, rounding] = fast_two_sum(scaled, f);
    const Real<M> low = fma(e, E::ln2_low, rounding);
    return {high, fma(square * f, estrin(f, square, C::q), fma(f * T(-0.5), f, low))};
  }
}

/// The value of a logarithm at 0, infinity, NaN and below 0, the given one elsewhere.
template <Model M>
Real<M> log_special(Real<M> x, Real<M> regular) {
  using L = Format<typename M::Scalar>;
  const Real<M> finite = select(x < L::infinity, regular, x);
  return select(x > 0, finite, select(x == 0, x.constant(-L::infinity), L::nan));
}

/// Natural logarithm. Error below 1 ULP.
template <Model M>
Real<M> log(Real<M> x) {
  const auto [e, f] = reduce_binary(x);
  const auto [high, low] = log_parts(e, f);
  // Infinity and NaN stay when the low part is added.
  return log_special(x, high) + low;
}

/// log((high + low) 2^doublings) for a normal positive high below the last binade: the low part enters after
/// 1 is taken off.
template <Model M>
Real<M> log_of_pair(Real<M> high, Real<M> low, Real<M> doublings) {
  using T = typename M::Scalar;
  using L = Format<T>;
  constexpr auto sqrt_half = LogConstants<T>::sqrt_half;
  constexpr T integer_one = T(typename L::Integer{1} << L::mantissa_bits);
  const Integer<M> from_sqrt_half = to_bits(high) + (std::bit_cast<typename L::Integer>(T(1)) - sqrt_half);
  const Real<M> e =
      from_bits((from_sqrt_half >> L::mantissa_bits) | std::bit_cast<typename L::Integer>(integer_one)) -
      (integer_one + T(L::bias));
  const Real<M> f = from_bits((from_sqrt_half & L::mantissa_mask) + sqrt_half) - T(1);
  const Integer<M> exponent_field = from_sqrt_half & ~L::mantissa_mask;
  const Real<M> power = from_bits((2 * L::bias << L::mantissa_bits) - exponent_field);  // 2^-e
  const auto [first, second] = log_parts(e + doublings, fma(low, power, f));
  return first + second;
}

/// log(1 + x), accurate near 0. Error below 1.7 ULP.
template <Model M>
Real<M> log1p(Real<M> x) {
  using T = typename M::Scalar;
  using L = Format<T>;
  const auto [sum, rounding] = two_sum(x.constant(1), x);
  const Mask<M> large = x > T(0x1p60);  // where the 1 is lost without harm
  const Real<M> regular = copysign(log_of_pair(select(large, x * T(0.5), sum), select(large, T(0), rounding),
                                               select(large, x.constant(1), x.constant(0))),
                                   x);
  const Real<M> finite = select(x < L::infinity, regular, x);
  return select(x > T(-1), finite, select(x == T(-1), x.constant(-L::infinity), L::nan));
}

/// log(1 - e^-x) for x > 0. Error below 1.7 ULP.
template <Model M>
Real<M> log1mexp(Real<M> x) {
  using T = typename M::Scalar;
  using C = ExpConstants<T>;
  using L = Format<T>;
  // Further out -e^-x is the result, to the last digit.
  constexpr T far = is_f32<M> ? T(19) : T(40);
  // e^-x = 2^k (1 + p + p_low), with k = 0 for small x, so that nothing cancels in 1 - e^-x.
  const Real<M> exponent = -at_most(x, far);
  constexpr T shifter = L::shifter + T(L::bias);
  const Real<M> shifted = select(exponent > T(-0.52), x.constant(shifter), fma(exponent, C::log2_e, shifter));
  const Real<M> k = shifted - shifter;
  const Real<M> r = fma(k, -C::ln2_low, fma(k, -C::ln2_high, exponent));
  const Real<M> square = r * r;
  const auto [p, p_low] = fast_two_sum(r, square * two_way(r, square, C::q_expm1));
  const Real<M> power = from_bits(to_bits(shifted) << L::mantissa_bits);
  const auto [rest, rest_low] = fast_two_sum(x.constant(1), -power);
  const auto [high, high_low] = two_sum(rest, -(power * p));
  const Real<M> low = fma(-power, p_low, rest_low + high_low);
  // The logarithm is taken of a normal number.
  constexpr int lift = L::mantissa_bits + 1;
  const Mask<M> subnormal = high < L::smallest_normal;
  const Real<M> scale = select(subnormal, x.constant(T(typename L::Integer{1} << lift)), x.constant(1));
  const Real<M> near =
      log_of_pair(high * scale, low * scale, select(subnormal, x.constant(T(-lift)), x.constant(0)));
  const Real<M> regular = select(x > far, -exp(-x), near);
  return select(x > 0, regular, select(x == 0, x.constant(-L::infinity), L::nan));
}

struct Log2Constants {
  static constexpr double c0_high = 0x1.71547652b82fep+1, c0_low = 0x1.777d0ffda0d24p-55;
  static constexpr double c1_high = 0x1.ec709dc3a03fdp-1, c1_low = 0x1.d27f05548af0cp-55;
  // error 2^-71.9 of log2(1 + f)
  static constexpr double p[] = {0x1.2776c50ef9bfcp-1, 0x1.a61762a7aedep-2,  0x1.484b13d6aca43p-2,
                                 0x1.0c9a853b27af2p-2, 0x1.c68ee93c2c922p-3, 0x1.8a09be3941d2ap-3,
                                 0x1.58fc37395480bp-3, 0x1.61f642b8a4d65p-3};
  // log2(1 + f) = s (c0 + z p(z)) for f32; error 2^-36.1
  static constexpr double p_f32[] = {0x1.ec709d4453bd4p-1, 0x1.2777681507405p-1, 0x1.a595ec881780ap-2,
                                     0x1.5c6af589e675ap-2};
  // log10(2)
  static constexpr double log10_high = 0x1.34413509f79ffp-2, log10_low = -0x1.9dc1da994fd21p-59;
};

/// e + log2(1 + f) to 64 bits and more: s (c0 + c1 z + z^2 p(z)) with s = f / (2 + f), z = s^2.
template <Model M>
Pair<M> log2_pair(Real<M> e, Real<M> f) {
  using C = Log2Constants;
  // s = f / (2 + f) with the remainder of the division; 2 + f is m + 1 with m = 1 + f.
  const auto [d, d_low] = fast_two_sum(f.constant(2), f);
  const Real<M> reciprocal = 1 / d;
  const Real<M> s = f * reciprocal;
  const Real<M> s_low = fma(-s, d_low, fma(-s, d, f)) * reciprocal;
  const auto [z, z_rounding] = two_product(s, s);
  const Real<M> z_low = fma(s + s, s_low, z_rounding);
  const auto [linear, linear_rounding] = two_product(z, z.constant(C::c1_high));
  const Real<M> z_square = z * z;
  const auto [rest, rest_low] = fast_two_sum(
      linear,
      fma(z_low, C::c1_high, fma(z, C::c1_low, fma(z_square, two_way(z, z_square, C::p), linear_rounding))));
  const auto [u, u_rounding] = fast_two_sum(z.constant(C::c0_high), rest);
  const Real<M> u_low = u_rounding + (rest_low + C::c0_low);
  const auto [product, product_rounding] = two_product(s, u);
  const Real<M> product_low = fma(s, u_low, fma(s_low, u, product_rounding));
  const auto [high, rounding] = fast_two_sum(e, product);
  return {high, rounding + product_low};
}

/// e + log2(1 + f) to 36 bits, for f32 in f64.
template <Model M>
Real<typename M::Wide> log2_wide(Real<M> e, Real<M> f) {
  using C = Log2Constants;
  const auto wide_f = widen(f);
  const auto s = wide_f / (wide_f + 2.0);
  const auto z = s * s;
  return fma(s, fma(z, horner(z, C::p_f32), C::c0_high), widen(e));
}

/// Logarithm to base 2. Error below 0.6 ULP; exact for powers of two.
template <Model M>
Real<M> log2(Real<M> x) {
  const auto [e, f] = reduce_binary(x);
  if constexpr (is_f32<M>) {
    return log_special(x, narrow(x.m, log2_wide(e, f)));
  } else {
    const auto [high, low] = log2_pair(e, f);
    return log_special(x, high + low);
  }
}

/// Logarithm to base 10. Error below 0.6 ULP; exact for powers of ten.
template <Model M>
Real<M> log10(Real<M> x) {
  using C = Log2Constants;
  const auto [e, f] = reduce_binary(x);
  if constexpr (is_f32<M>) {
    return log_special(x, narrow(x.m, log2_wide(e, f) * C::log10_high));
  } else {
    const auto [high, low] = log2_pair(e, f);
    const auto [product, rounding] = two_product(high, high.constant(C::log10_high));
    return log_special(x, product + fma(high, C::log10_low, fma(low, C::log10_high, rounding)));
  }
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_LOG_FUNCTIONS(X) \
  X(log, 1, 1, 1, own)         \
  X(log2, 1, 0.6, 0.6, wide)   \
  X(log10, 1, 0.6, 0.6, wide)  \
  X(log1p, 1, 1.7, 1.7, own)   \
  X(log1mexp, 1, 1.7, 1.7, own)
