#pragma once

#include <cstdint>

namespace apsis::detail {

/// Columns that a loop writes together, so that vectors of memory are, are no more than these.
inline constexpr std::int64_t most_columns = 16;

}  // namespace apsis::detail
