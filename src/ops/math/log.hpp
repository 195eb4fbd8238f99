#pragma once

#include "ops/math/exp.hpp"

// Logarithms: x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), from the bits.
namespace apsis::detail::math {

template <class Scalar>
struct LogConstants;

template <>
struct LogConstants<double> {
  static constexpr std::int64_t sqrt_half = 0x3fe6a09e667f3bcd;
  // (2 atanh(s) - 2 s) / s^3 in s^2; error 2^-58.1 of log(1 + f)
  static constexpr double p[] = {0x1.5555555555593p-1, 0x1.999999997fa38p-2, 0x1.2492494224572p-2,
                                 0x1.c71c51ddef2b7p-3, 0x1.7466484039d48p-3, 0x1.39a0be5a90521p-3,
                                 0x1.2f0fc3a39dd4ep-3};
};

template <>
struct LogConstants<float> {
  static constexpr std::int32_t sqrt_half = 0x3f3504f3;
  // (log(1 + f) - f + f^2/2) / f^3; error 2^-27.3 of log(1 + f)
  static constexpr float q[] = {0x1.55554ap-2f,  -0x1.000222p-2f, 0x1.99a5aep-3f, -0x1.5477fcp-3f,
                                0x1.226c8cp-3f, -0x1.0ce528p-3f, 0x1.07dbb8p-3f, -0x1.41e5b6p-4f};
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
  constexpr T integer_one = T(typename L::Integer{1} << L::mantissa_bits);  // OR-ing n to its bits gives it plus n
  constexpr T lift = T(typename L::Integer{1} << (L::mantissa_bits + 1));
  const Mask<M> subnormal = x < L::smallest_normal;
  const Real<M> normal = select(subnormal, x * lift, x);
  const Real<M> offset = select(subnormal, x.constant(integer_one + T(L::bias + L::mantissa_bits + 1)),
                                x.constant(integer_one + T(L::bias)));
  const Integer<M> from_sqrt_half = to_bits(normal) + (std::bit_cast<typename L::Integer>(T(1)) - sqrt_half);
  const Real<M> e =
      from_bits((from_sqrt_half >> L::mantissa_bits) | std::bit_cast<typename L::Integer>(integer_one)) - offset;
  const Real<M> f = from_bits((from_sqrt_half & L::mantissa_mask) + sqrt_half) - T(1);
  return {e, f};
}

/// e ln 2 + log(1 + f).
template <Model M>
Real<M> log_reduced(Real<M> e, Real<M> f) {
  using T = typename M::Scalar;
  using C = LogConstants<T>;
  using E = ExpConstants<T>;
  Real<M> tail = e * E::ln2_low;
  if constexpr (is_f32<M>) {
    tail = fma(f * f, fma(f, two_way(f, C::q), T(-0.5)), tail);
  } else {
    // 2 atanh(s) = f - f^2/2 + s (f^2/2 + s^2 p), s = f / (2 + f): the large terms are free of the error of s.
    const Real<M> s = f / (f + 2);
    const Real<M> square = s * s;
    const Real<M> half = f * T(0.5);
    tail = fma(-half, f, fma(s, fma(square, two_way(square, C::p), half * f), tail));
  }
  return fma(e, E::ln2_high, f + tail);
}

/// The value of a logarithm at 0, infinity, NaN and below 0, the given one elsewhere.
template <Model M>
Real<M> log_special(Real<M> x, Real<M> regular) {
  using L = Format<typename M::Scalar>;
  const Real<M> finite = select(x < L::infinity, regular, x);
  return select(x > 0, finite, select(x == 0, x.constant(-L::infinity), select(x < 0, L::nan, x)));
}

/// Natural logarithm. Error below 1 ULP.
template <Model M>
Real<M> log(Real<M> x) {
  const auto [e, f] = reduce_binary(x);
  return log_special(x, log_reduced(e, f));
}

}  // namespace apsis::detail::math
