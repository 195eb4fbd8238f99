#pragma once

// Small blocks, in line for what makes and frees arrays on every call: lists of free ones, by size and
// thread.

#include "core/memory.hpp"

namespace apsis::detail {

struct SmallBlocks {
  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t class_count = 32;  // 64, 128, …, 2048 bytes
  struct Free {
    Free* next;
  };
  Free* heads[class_count];
  std::uint32_t room[class_count];  // how many more are kept: none while nobody would free them at the end
  MemoryUse use;

  /// None of the small ones for no bytes.
  static std::size_t class_of(std::size_t bytes) { return (bytes - 1) / alignment; }

  /// `bytes` more in use.
  void count(std::int64_t bytes) {
    use.live += bytes;
    if (use.live > use.peak) use.peak = use.live;
  }
  /// Keeps a block of a class that has room.
  void keep(void* block, std::size_t c) {
    auto* free = static_cast<Free*>(block);
    free->next = heads[c];
    heads[c] = free;
    --room[c];
  }
};
// Trivially destructible, so that it may be used while other thread-locals are being destroyed.
extern constinit thread_local SmallBlocks small_blocks [[gnu::tls_model("initial-exec")]];

/// What no free list has; not counted.
void* new_block(std::size_t bytes);
/// What no free list has room for.
void give_back_block(void* block, std::size_t bytes);

/// allocate_block
inline void* take_block(std::size_t bytes) {
  SmallBlocks& all = small_blocks;
  const std::size_t c = SmallBlocks::class_of(bytes);
  void* block = c < SmallBlocks::class_count ? all.heads[c] : nullptr;
  if (block) [[likely]] {
    all.heads[c] = static_cast<SmallBlocks::Free*>(block)->next;
    ++all.room[c];
  } else {
    block = new_block(bytes);
  }
  all.count(static_cast<std::int64_t>(bytes));
  return block;
}

/// free_block
inline void give_block(void* block, std::size_t bytes) {
  SmallBlocks& all = small_blocks;
  all.use.live -= static_cast<std::int64_t>(bytes);
  const std::size_t c = SmallBlocks::class_of(bytes);
  if (c >= SmallBlocks::class_count || all.room[c] == 0) [[unlikely]]
    return give_back_block(block, bytes);
  all.keep(block, c);
}

}  // namespace apsis::detail
