#pragma once

#include <cstddef>
#include <cstdint>

namespace apsis::detail {

/// Blocks for nodes and elements, 64-byte aligned. Small ones, and a few large ones, come from bounded
/// per-thread free lists.
void* allocate_block(std::size_t bytes);
void free_block(void* block, std::size_t bytes);

/// Bytes of blocks in use: asked for by this thread and not yet given back on it. The peak counts from the
/// start of the thread, or from the last `reset_peak_memory`.
struct MemoryUse {
  std::int64_t live = 0, peak = 0;
};
MemoryUse memory_use();
/// Counts memory that does not come from `allocate_block`; negative when it is given back.
void count_memory(std::int64_t bytes);
void reset_peak_memory();

/// Bytes that this process may use: the machine's, or those of its control group.
std::int64_t machine_memory();

}  // namespace apsis::detail
