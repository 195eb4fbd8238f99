// Blocks come back from the pool, and the pool is bounded.
#include "core/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace {

using apsis::detail::allocate_block;
using apsis::detail::free_block;

#ifndef APSIS_SANITIZED
TEST(memory, blocks_are_used_again) {
  for (std::size_t bytes : {1u, 64u, 2048u, 65536u, 4000128u}) {
    void* first = allocate_block(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
    free_block(first, bytes);
    void* second = allocate_block(bytes);
    EXPECT_EQ(first, second) << bytes;
    free_block(second, bytes);
  }
}
#endif

TEST(memory, large_blocks_of_similar_sizes_hold_what_was_asked_for) {
  // Neighbours of the size classes' borders, each filled to its last byte while others are alive (for the
  // sanitizer).
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t bytes :
         {65535u, 65536u, 65537u, 73728u, 73729u, 1048575u, 1048576u, 1048577u, 1179649u}) {
      void* block = allocate_block(bytes);
      std::memset(block, round + 1, bytes);
      blocks.emplace_back(block, bytes);
    }
    std::set<void*> distinct;
    for (auto& b : blocks) distinct.insert(b.first);
    EXPECT_EQ(distinct.size(), blocks.size());
    for (auto& [block, bytes] : blocks) free_block(block, bytes);
    blocks.clear();
  }
}

TEST(memory, small_blocks_may_be_freed_on_another_thread) {
  // More than a thread keeps, of sizes at the borders of classes.
  constexpr std::size_t sizes[] = {0, 1, 64, 65, 2048, 2049};
  for (int round = 0; round < 3; ++round) {
    std::vector<std::pair<void*, std::size_t>> blocks;
    for (int i = 0; i < 100; ++i)
      for (const std::size_t bytes : sizes) {
        blocks.emplace_back(allocate_block(bytes), bytes);
        std::memset(blocks.back().first, i, bytes);
      }
    std::set<void*> distinct;
    for (auto& b : blocks) distinct.insert(b.first);
    EXPECT_EQ(distinct.size(), blocks.size());
    const auto free_all = [&] {
      for (auto& [block, bytes] : blocks) free_block(block, bytes);
    };
    if (round == 1)
      free_all();
    else
      std::thread(free_all).join();
  }
}

TEST(memory, many_and_huge_blocks_may_be_freed_on_another_thread) {
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(allocate_block(1 << 20));
  blocks.push_back(allocate_block(100 << 20));
  std::thread([&] {
    free_block(blocks.back(), 100 << 20);
    for (int i = 0; i < 20; ++i) free_block(blocks[static_cast<std::size_t>(i)], 1 << 20);
  }).join();
}

TEST(memory, use_counts_what_is_alive_and_remembers_the_most) {
  using apsis::detail::memory_use;
  const auto before = memory_use().live;
  apsis::detail::reset_peak_memory();
  EXPECT_EQ(memory_use().peak, before);
  void* small = allocate_block(100);
  void* large = allocate_block(3 << 20);
  EXPECT_EQ(memory_use().live - before, 100 + (3 << 20));
  free_block(large, 3 << 20);
  EXPECT_EQ(memory_use().live - before, 100);
  EXPECT_EQ(memory_use().peak - before, 100 + (3 << 20));
  free_block(small, 100);
  apsis::detail::reset_peak_memory();
  EXPECT_EQ(memory_use().peak, before);
}

#if !defined(APSIS_SANITIZED) && !defined(APSIS_VALGRIND)
// Sizes that share a capacity share memory; another size is none of the kept block's, whichever thread freed
// it.
TEST(Memory, LargeBlocksAreKeptForAllThreads) {
  constexpr std::size_t bytes = 48 << 20;
  void* first = allocate_block(bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % (2 << 20), 0u);
  std::memset(first, 1, bytes);
  std::thread([&] { free_block(first, bytes); }).join();
  void* second = allocate_block(bytes - 1000);
  EXPECT_EQ(first, second);
  void* other = allocate_block(2 * bytes);
  EXPECT_NE(other, second);
  std::memset(second, 2, bytes - 1000);
  std::memset(other, 3, 2 * bytes);
  EXPECT_EQ(static_cast<unsigned char*>(second)[bytes - 1001], 2);
  free_block(second, bytes - 1000);
  free_block(other, 2 * bytes);
}

// What is kept serves smaller blocks, too, and is one block again when these are freed.
TEST(Memory, LargeBlocksAreDividedAndJoined) {
  constexpr std::size_t bytes = 256 << 20;  // more than is kept by other tests, which is dropped for it
  char* whole = static_cast<char*>(allocate_block(bytes));
  free_block(whole, bytes);
  char* first = static_cast<char*>(allocate_block(bytes / 2));
  char* second = static_cast<char*>(allocate_block(bytes / 2));
  const auto is_within = [&](const char* block) {
    return block >= whole && block + bytes / 2 <= whole + bytes;
  };
  EXPECT_TRUE(is_within(first) && is_within(second));
  EXPECT_GE(std::abs(first - second), static_cast<std::ptrdiff_t>(bytes / 2));
  free_block(first, bytes / 2);
  free_block(second, bytes / 2);
  EXPECT_EQ(allocate_block(bytes), whole);
  free_block(whole, bytes);
}
#endif

}  // namespace
