#pragma once

// The one order in which sums (and all other reductions) combine their elements, a function of their number
// alone: sequential below 16 elements; 8 strided partial results below 256, 32 from there, combined pairwise;
// in blocks of 4096 combined in order. Wide enough to fill any vector register, and the same on every machine
// and thread count. The evaluator, unrolled code and the code generator's loops all follow it.

#include <cstdint>

namespace apsis::detail {

inline constexpr std::int64_t sum_sequential_below = 16;
inline constexpr std::int64_t sum_few_partials_below = 256;
inline constexpr int sum_few_partials = 8;
inline constexpr int sum_many_partials = 32;
inline constexpr std::int64_t sum_block = 4096;

template <int partials, class V, class Get, class Combine>
V combine_strided(std::int64_t first, std::int64_t count, const Get& get, const Combine& combine) {
  V partial[partials];
  for (int j = 0; j < partials; ++j) partial[j] = get(first + j);
  std::int64_t i = partials;
  for (; i + partials <= count; i += partials)
    for (int j = 0; j < partials; ++j) partial[j] = combine(partial[j], get(first + i + j));
  for (int j = 0; i + j < count; ++j) partial[j] = combine(partial[j], get(first + i + j));
  for (int half = partials / 2; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) partial[j] = combine(partial[j], partial[j + half]);
  return partial[0];
}

template <class V, class Get, class Combine>
V combine_block(std::int64_t first, std::int64_t count, const Get& get, const Combine& combine) {
  if (count >= sum_few_partials_below)
    return combine_strided<sum_many_partials, V>(first, count, get, combine);
  if (count >= sum_sequential_below) return combine_strided<sum_few_partials, V>(first, count, get, combine);
  V total = get(first);
  for (std::int64_t i = 1; i < count; ++i) total = combine(total, get(first + i));
  return total;
}

/// get(0), …, get(count - 1) combined in the defined order; count ≥ 1.
template <class V, class Get, class Combine>
V combine_in_order(std::int64_t count, const Get& get, const Combine& combine) {
  V total = combine_block<V>(0, count < sum_block ? count : sum_block, get, combine);
  for (std::int64_t first = sum_block; first < count; first += sum_block) {
    std::int64_t left = count - first;
    total = combine(total, combine_block<V>(first, left < sum_block ? left : sum_block, get, combine));
  }
  return total;
}

}  // namespace apsis::detail
