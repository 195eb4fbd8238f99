#include "codegen/support/share_loop.hpp"

#include <atomic>

#include "base/threads.hpp"

void apsis_share_loop(void (*part)(void*, std::int64_t), void* table, std::int64_t parts) noexcept {
  using namespace apsis::detail;
  // A bit a part: none may run twice, as results may lie where operands were.
  static_assert(most_loop_parts <= 64);
  std::atomic<std::uint64_t> done{0};
  if (machine_threads() > 1)
    (void)share_out(parts, [&](std::int64_t i) {
      part(table, i);
      done.fetch_or(std::uint64_t{1} << i, std::memory_order_relaxed);
    });
  for (std::int64_t i = 0; i < parts; ++i)
    if (!(done.load(std::memory_order_relaxed) >> i & 1)) part(table, i);
}
