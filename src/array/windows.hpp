// Windows that slide along one axis of an array.
#pragma once

#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::detail::arrays {

/// How many windows fit.
std::int64_t window_count(std::int64_t size, std::int64_t window, std::int64_t stride);
/// x[…, k dilation + i stride, …] for each place k of a window along an axis, i counting the windows.
std::vector<Array> window_entries(const Array& x, int axis, std::int64_t window, std::int64_t stride,
                                  std::int64_t dilation, std::int64_t count);

}  // namespace apsis::detail::arrays
