#pragma once

// The one order in which sums (and all other reductions) combine their elements, a function of their number
// alone: sequential below 16 elements; 8 strided partial results below 256, 32 from there, combined pairwise;
// in blocks of 4096 combined in order, 64 of them into a group, 64 groups into a larger one, and so on. Wide
// enough to fill any vector register, and the same on every machine and thread count. No term goes through
// more than 128 additions of a stride and 64 of each kind of group, so rounding grows with the logarithm of
// their number. The evaluator, unrolled code and the code generator's loops all follow it.

#include <algorithm>
#include <cstdint>

namespace apsis::detail {

inline constexpr std::int64_t sum_sequential_below = 16;
inline constexpr std::int64_t sum_few_partials_below = 256;
inline constexpr int sum_few_partials = 8;
inline constexpr int sum_many_partials = 32;
inline constexpr std::int64_t sum_block = 4096;
inline constexpr std::int64_t sum_group = 64;

/// The terms of the parts that `count` > `block` terms are combined from: a block, or a group of some
/// level.
constexpr std::int64_t sum_part(std::int64_t count, std::int64_t block = sum_block) {
  std::int64_t part = block;
  while ((count - 1) / part >= sum_group) part *= sum_group;
  return part;
}

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

/// get(first), …, get(first + count - 1) combined in the defined order; count ≥ 1.
template <class V, class Get, class Combine>
V combine_in_order(std::int64_t count, const Get& get, const Combine& combine, std::int64_t first = 0) {
  if (count <= sum_block) return combine_block<V>(first, count, get, combine);
  const std::int64_t part = sum_part(count);
  V total = combine_in_order<V>(part, get, combine, first);
  for (std::int64_t i = part; i < count; i += part)
    total = combine(total, combine_in_order<V>(std::min(part, count - i), get, combine, first + i));
  return total;
}

}  // namespace apsis::detail
