#pragma once

#include <cstdint>

namespace apsis::detail {
inline constexpr std::int64_t most_loop_parts = 64;
}

extern "C" {
/// Runs part(table, i) once for each i in [0, parts), parts ≤ most_loop_parts, on the threads there are.
void apsis_share_loop(void (*part)(void*, std::int64_t), void* table, std::int64_t parts) noexcept;
}
