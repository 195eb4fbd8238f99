#pragma once

#include "ops/math/log.hpp"

// asinh, acosh and atanh as logarithms of a sum or quotient known to twice the precision, so that nothing is
// lost where the logarithm is near 0.
namespace apsis::detail::math {

/// Inverse hyperbolic sine: log(|x| + sqrt(x^2 + 1)). Error below 1.8 ULP.
template <Model M>
Real<M> asinh(Real<M> x) {
  using T = typename M::Scalar;
  using L = Format<T>;
  const Real<M> magnitude = abs(x);
  // Here 1 is lost beside x^2 and the result is log(2 |x|).
  const Mask<M> large = magnitude > T(0x1p40);
  const auto [square, square_rounding] = two_product(magnitude, magnitude);
  const auto [under, under_rounding] = two_sum(square, x.constant(1));
  const auto [root, root_low] = square_root(Pair<M>{under, under_rounding + square_rounding});
  const auto [sum, sum_rounding] = two_sum(root, magnitude);
  const Real<M> result =
      log_of_pair(select(large, magnitude * T(0.5), sum), select(large, T(0), sum_rounding + root_low),
                  select(large, x.constant(2), x.constant(0)));
  return with_sign_of(select(magnitude < L::infinity, result, magnitude), x);
}

/// Inverse hyperbolic cosine: log(x + sqrt((x - 1) (x + 1))), NaN below 1. Error below 1.7 ULP.
template <Model M>
Real<M> acosh(Real<M> x) {
  using T = typename M::Scalar;
  using L = Format<T>;
  const Mask<M> large = x > T(0x1p40);
  // (x - 1) (x + 1) = d^2 + 2 d with d = x - 1 exact
  const Real<M> d = x - T(1);
  const auto [square, square_rounding] = two_product(d, d);
  const auto [under, under_rounding] = two_sum(square, d + d);
  const auto [root, root_low] = square_root(Pair<M>{under, under_rounding + square_rounding});
  const auto [sum, sum_rounding] = fast_two_sum(x, root);
  const Real<M> result =
      log_of_pair(select(large, x * T(0.5), sum), select(large, T(0), sum_rounding + root_low),
                  select(large, x.constant(2), x.constant(0)));
  return select(x < T(1), L::nan, select(x < L::infinity, result, x));
}

/// Inverse hyperbolic tangent: log((1 + x) / (1 - x)) / 2. Error below 1.8 ULP.
template <Model M>
Real<M> atanh(Real<M> x) {
  using T = typename M::Scalar;
  using L = Format<T>;
  const Real<M> magnitude = abs(x);
  const auto [over, over_rounding] = fast_two_sum(x.constant(1), magnitude);
  const auto [under, under_rounding] = fast_two_sum(x.constant(1), -magnitude);
  const Real<M> quotient = over / under;
  const Real<M> rest = (fma(-quotient, under, over) + fma(-quotient, under_rounding, over_rounding)) / under;
  const Real<M> regular = log_of_pair(quotient, rest, x.constant(0)) * T(0.5);
  const Real<M> bounded = select(magnitude == T(1), x.constant(L::infinity), regular);
  return with_sign_of(select(magnitude > T(1), L::nan, select(magnitude <= T(1), bounded, x)), x);
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_INVERSE_HYPERBOLIC_FUNCTIONS(X) \
  X(asinh, 1, 1.8, 1.8, own)                  \
  X(acosh, 1, 1.7, 1.7, own)                  \
  X(atanh, 1, 1.8, 1.8, own)
