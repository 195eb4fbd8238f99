#pragma once

#include <cstddef>

namespace apsis::detail {

/// Blocks for nodes and elements, 64-byte aligned. Small ones, and a few large ones, come from bounded
/// per-thread free lists.
void* allocate_block(std::size_t bytes);
void free_block(void* block, std::size_t bytes);

}  // namespace apsis::detail
