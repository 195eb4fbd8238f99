#pragma once

// `allocate`, in line: what calls make their results with.

#include <new>

#include "apsis/core/watch.hpp"
#include "core/sizes.hpp"
#include "core/small_blocks.hpp"

namespace apsis::detail {

// Header and elements share one block; elements start at the next 64-byte line, scalars right behind the
// header.
constexpr std::size_t buffer_header = (sizeof(BufferNode) + 63) / 64 * 64;
static_assert(buffer_header - sizeof(BufferNode) < 64);

inline std::size_t block_size(const Aval& aval) { return buffer_header + aval.bytes(); }

/// A buffer of which the caller has the only reference.
inline BufferNode* new_buffer(const Aval& aval) {
  void* block;
  try {
    block = take_block(block_size(aval));
  } catch (const std::bad_alloc&) {
    fail_memory(aval);
  }
  auto* node = new (block) BufferNode(aval, static_cast<char*>(block) + buffer_header);
  if (arrays_watched.load(std::memory_order_relaxed)) [[unlikely]]
    note_array(node);
  return node;
}

}  // namespace apsis::detail
