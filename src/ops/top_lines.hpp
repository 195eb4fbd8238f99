#pragma once

// The greatest elements of a line: a scan that compares with the least of those kept so far, which few
// elements of a long line are above. Takes time in proportion to the line, plus what it takes to order what
// is kept.

#include <cstdint>

#include "apsis/core/dtype.hpp"

namespace apsis::detail {

/// Where the `wanted` greatest of `count` neighbours in memory are, the greatest first; wanted ≤ count. NaN
/// is greater than all numbers, -0 equals 0, complex numbers go by the real, then by the imaginary part;
/// equal ones keep their order.
void top_of_line(const void* line, std::int64_t count, std::int64_t wanted, Dtype dtype,
                 std::int64_t* places);

/// The same of several short lines at once, side by side in registers.
constexpr std::int64_t most_short_tops = 16;
/// Whether that takes less time: each element is compared with all that are kept.
constexpr bool is_short_top(std::int64_t count, std::int64_t wanted, Dtype dtype) {
  return wanted <= 8 && count * wanted <= 1024 && !is_complex(dtype);
}
struct ShortLines {
  std::int64_t count, wanted, stride;
  std::int64_t lines, step;  // from one line to the next
};
/// To `wanted` places of the first line, of the next, ….
void top_of_short_lines(const void* first, const ShortLines& all, Dtype dtype, std::int64_t* places);

}  // namespace apsis::detail
