#include "core/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <new>

namespace apsis::detail {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t class_count = 32;    // 64, 128, …, 2048 bytes
constexpr std::uint32_t class_limit = 64;  // blocks kept per class and thread

// Large blocks are kept too, a few at a time: the system gives them out page by page, which costs more than
// computing their elements.
constexpr std::size_t large_block = 64 << 10;
constexpr std::size_t large_count = 8;
constexpr std::size_t large_limit = 64 << 20;  // bytes kept per thread

struct Pool {
  struct Free {
    Free* next;
  };
  struct Large {
    void* block;
    std::size_t capacity;
  };
  Free* heads[class_count];
  std::uint32_t counts[class_count];
  Large large[large_count];  // the oldest first; empty ones last
  std::size_t large_bytes;
  MemoryUse use;
  bool watched, closed;  // there is a closer; it has run
};
// Trivially destructible, so that it may be used while other thread-locals are being destroyed.
constinit thread_local Pool pool [[gnu::tls_model("initial-exec")]]{};

void release(void* block) { ::operator delete (block, std::align_val_t{alignment}); }

/// Takes entry i out of the large blocks.
void* remove_large(std::size_t i) {
  void* block = pool.large[i].block;
  pool.large_bytes -= pool.large[i].capacity;
  for (; i + 1 < large_count; ++i) pool.large[i] = pool.large[i + 1];
  pool.large[large_count - 1] = {};
  return block;
}

struct PoolCloser {
  ~PoolCloser() {
    pool.closed = true;
    while (pool.large[0].block) release(remove_large(0));
    for (auto& head : pool.heads)
      while (head) {
        auto* next = head->next;
        release(head);
        head = next;
      }
  }
};
thread_local PoolCloser closer;

/// Before a block is kept: the clean-up of this thread is registered by touching the closer.
void watch_pool() {
  if (pool.watched) return;
  (void)&closer;
  pool.watched = true;
}

#if defined(APSIS_SANITIZED) || defined(APSIS_VALGRIND)
constexpr bool pooling = false;  // so that the sanitizer sees every free
#else
constexpr bool pooling = true;
#endif

std::size_t class_of(std::size_t bytes) { return bytes == 0 ? 0 : (bytes - 1) / alignment; }

/// What is allocated for a large request: rounded up to one of eight sizes an octave, so that similar ones
/// can share.
std::size_t large_capacity(std::size_t bytes) {
  const std::size_t unit = std::bit_floor(bytes) / 8;
  return (bytes + unit - 1) / unit * unit;
}

void* take_large(std::size_t capacity) {
  for (std::size_t i = large_count; i-- > 0;)
    if (pool.large[i].block && pool.large[i].capacity == capacity) return remove_large(i);
  return nullptr;
}

/// Keeps a block, dropping the oldest ones for it; false if it is too large to be kept.
bool keep_large(void* block, std::size_t capacity) {
  if (capacity > large_limit) return false;
  while (pool.large[large_count - 1].block || pool.large_bytes + capacity > large_limit)
    release(remove_large(0));
  std::size_t last = 0;
  while (pool.large[last].block) ++last;
  pool.large[last] = {block, capacity};
  pool.large_bytes += capacity;
  return true;
}

}  // namespace

void count_memory(std::int64_t bytes) {
  pool.use.live += bytes;
  if (pool.use.live > pool.use.peak) pool.use.peak = pool.use.live;
}

namespace {

/// The system promises more memory than there is, and ends the process that uses it: what cannot be is
/// refused before.
void refuse_beyond_memory(std::size_t bytes) {
  constexpr std::size_t large = std::size_t(1) << 30;  // less is not worth the question
  if (bytes <= large) return;
  static const auto most = static_cast<std::size_t>(machine_memory());
  if (bytes > most) throw std::bad_alloc();
}

void* new_block(std::size_t bytes) {
  std::size_t c = class_of(bytes);
  if (pooling && c < class_count) {
    if (auto* block = pool.heads[c]) {
      pool.heads[c] = block->next;
      --pool.counts[c];
      return block;
    }
  }
  refuse_beyond_memory(bytes);
  std::size_t capacity = (c + 1) * alignment;
  if (pooling && bytes >= large_block) {
    capacity = large_capacity(bytes);
    if (void* block = take_large(capacity)) return block;
  }
  return ::operator new (capacity, std::align_val_t{alignment});
}

}  // namespace

void* allocate_block(std::size_t bytes) {
  void* block = new_block(bytes);
  count_memory(static_cast<std::int64_t>(bytes));
  return block;
}

void free_block(void* block, std::size_t bytes) {
  count_memory(-static_cast<std::int64_t>(bytes));
  std::size_t c = class_of(bytes);
  if (pooling && c < class_count && !pool.closed && pool.counts[c] < class_limit) {
    watch_pool();
    auto* free = static_cast<Pool::Free*>(block);
    free->next = pool.heads[c];
    pool.heads[c] = free;
    ++pool.counts[c];
    return;
  }
  if (pooling && bytes >= large_block && !pool.closed) {
    watch_pool();
    if (keep_large(block, large_capacity(bytes))) return;
  }
  release(block);
}

MemoryUse memory_use() { return pool.use; }
void reset_peak_memory() { pool.use.peak = pool.use.live; }

std::int64_t machine_memory() {
  std::int64_t bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (const char* name : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::FILE* file = std::fopen(name, "r");
    if (!file) continue;
    long long limit = 0;
    if (std::fscanf(file, "%lld", &limit) == 1 && limit > 0) bytes = std::min<std::int64_t>(bytes, limit);
    std::fclose(file);
  }
  return bytes;
}

}  // namespace apsis::detail
