#pragma once

// The one order in which contractions add up their products, a function of their number alone: below 32 one
// chain of multiply-adds; from there 8 strided chains, combined pairwise as in sum_order.hpp. The chains of a
// row stored without gaps are the lanes of a vector; where results or packets' lanes are the vector, the
// eight additions are few beside the products.

#include <cstdint>

namespace apsis::detail {

inline constexpr std::int64_t dot_sequential_below = 32;
inline constexpr int dot_partials = 8;

/// The contraction of `count` products. multiply_add(k, sum) is sum + a_k · b_k rounded once; each chain
/// starts from `zero`, which is +0.
template <class V, class MultiplyAdd, class Add>
V contract_in_order(std::int64_t count, const V& zero, const MultiplyAdd& multiply_add, const Add& add) {
  V partial[dot_partials];
  for (V& sum : partial) sum = zero;
  const std::int64_t chains = count < dot_sequential_below ? 1 : dot_partials;
  for (std::int64_t k = 0; k < count; ++k) partial[k % chains] = multiply_add(k, partial[k % chains]);
  for (std::int64_t half = chains / 2; half > 0; half /= 2)
    for (std::int64_t j = 0; j < half; ++j) partial[j] = add(partial[j], partial[j + half]);
  return partial[0];
}

}  // namespace apsis::detail
