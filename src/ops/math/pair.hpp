#pragma once

#include "ops/math/value.hpp"

// Numbers as unevaluated sums of two, where one rounding is too many.
namespace apsis::detail::math {

/// high + low, with low a correction.
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

/// a + b (Knuth 1969).
template <Model M>
Pair<M> two_sum(Real<M> a, Real<M> b) {
  const Real<M> sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// a b
template <Model M>
Pair<M> two_product(Real<M> a, Real<M> b) {
  const Real<M> product = a * b;
  return {product, fma(a, b, -product)};
}

/// The square root of a pair; 0 for 0.
template <Model M>
Pair<M> square_root(Pair<M> a) {
  using T = typename M::Scalar;
  const Real<M> root = square_root(a.high);
  const Real<M> correction = (fma(-root, root, a.high) + a.low) / (root + root);
  return {root, select(a.high == T(0), T(0), correction)};
}

}  // namespace apsis::detail::math
