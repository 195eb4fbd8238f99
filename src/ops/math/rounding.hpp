#pragma once

#include "ops/math/rare.hpp"
#include "ops/math/value.hpp"

// Rounding to integers (floor and rint are operations of the model) and the exact remainder.
namespace apsis::detail::math {

/// The least integer not below x.
template <Model M>
Real<M> ceil(Real<M> x) {
  return -floor(-x);
}

/// The integer part of x, towards zero.
template <Model M>
Real<M> trunc(Real<M> x) {
  return with_sign_of(floor(abs(x)), x);
}

/// Remainder of x / y with the sign of x (C99 fmod): exact.
template <Model M>
Real<M> fmod(Real<M> x, Real<M> y) {
  using T = typename M::Scalar;
  using L = Format<T>;
  const Real<M> a = abs(x), b = abs(y);
  const Real<M> quotient = floor(a / b);
  // The rounded quotient may be one too large; the remainder is then negative, and exact nevertheless.
  const Real<M> remainder = fma(-quotient, b, a);
  const Real<M> fast = with_sign_of(select(remainder < T(0), remainder + b, remainder), x);
  const Mask<M> ordinary = (quotient < T(typename L::Integer{1} << L::mantissa_bits)) & (b < L::infinity);
  return rare(!ordinary, rare_fmod<T>, x, y, fast);
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_ROUNDING_FUNCTIONS(X) \
  X(ceil, 1, 0, 0, none)            \
  X(trunc, 1, 0, 0, none)           \
  X(fmod, 2, 0, 0, none)
