#include "core/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <new>
#include <vector>

#include "core/small_blocks.hpp"

namespace apsis::detail {

constinit thread_local SmallBlocks small_blocks{};

namespace {

constexpr std::size_t alignment = SmallBlocks::alignment;
constexpr std::size_t class_count = SmallBlocks::class_count;
constexpr std::uint32_t class_limit = 64;  // blocks kept per class and thread

// Large blocks are kept too, a few at a time: the system gives them out page by page, which costs more than
// computing their elements.
constexpr std::size_t large_block = 64 << 10;
constexpr std::size_t large_count = 8;
constexpr std::size_t large_limit = 8 << 20;  // bytes kept per thread

struct Pool {
  struct Large {
    void* block;
    std::size_t capacity;
  };
  Large large[large_count];  // the oldest first; empty ones last
  std::size_t large_bytes;
  bool watched, closed;  // there is a closer, which frees what is kept; it has run
};
constinit thread_local Pool pool [[gnu::tls_model("initial-exec")]]{};

void* acquire(std::size_t capacity) { return ::operator new (capacity, std::align_val_t{alignment}); }
void release(void* block) { ::operator delete (block, std::align_val_t{alignment}); }

// Blocks of a huge page and more are mapped by themselves, so that the system may back them by huge pages: a
// fault for every 512 small pages. They are kept for all threads together. While one is kept, the system may
// take its pages back if it runs short of memory.
constexpr std::size_t huge_page = 2 << 20;

struct MappedBlocks {
  struct Block {
    char* data;
    std::size_t capacity;
  };
  std::mutex mutex;
  std::vector<Block> kept;  // the oldest first
  std::size_t bytes = 0;
  const std::size_t limit =
      static_cast<std::size_t>(std::min<std::int64_t>(machine_memory() / 8, std::int64_t{2} << 30));
};
/// Never destroyed: arrays in static storage are freed late.
MappedBlocks& mapped_blocks() {
  static MappedBlocks& all = *new MappedBlocks;
  return all;
}

/// Whole pages, from a multiple of their size on; null if the system has none.
void* map_block(std::size_t capacity) {
  void* mapped =
      mmap(nullptr, capacity + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* first = static_cast<char*>(mapped);
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(first) % huge_page) % huge_page;
  if (before > 0) munmap(first, before);
  if (before < huge_page) munmap(first + before + capacity, huge_page - before);
  madvise(first + before, capacity, MADV_HUGEPAGE);
  return first + before;
}

/// Unmaps the oldest blocks, of `bytes` together or all. The mutex is held.
void drop_mapped(MappedBlocks& all, std::size_t bytes) {
  std::size_t count = 0;
  for (std::size_t dropped = 0; count < all.kept.size() && dropped < bytes; ++count) {
    const auto& [data, capacity] = all.kept[count];
    munmap(data, capacity);
    dropped += capacity;
    all.bytes -= capacity;
  }
  all.kept.erase(all.kept.begin(), all.kept.begin() + static_cast<std::ptrdiff_t>(count));
}

/// The least of the kept blocks that is large enough; what is left of it stays.
void* take_kept(MappedBlocks& all, std::size_t capacity) {
  auto least = all.kept.end();
  for (auto block = all.kept.begin(); block != all.kept.end(); ++block)
    if (block->capacity >= capacity && (least == all.kept.end() || block->capacity <= least->capacity))
      least = block;
  if (least == all.kept.end()) return nullptr;
  char* const data = least->data;
  all.bytes -= capacity;
  if (least->capacity == capacity)
    all.kept.erase(least);
  else
    *least = {data + capacity, least->capacity - capacity};
  return data;
}

void* take_mapped(std::size_t capacity) {
  MappedBlocks& all = mapped_blocks();
  const std::lock_guard lock(all.mutex);
  if (void* data = take_kept(all, capacity)) return data;
  drop_mapped(all, capacity);  // so that no more is held than was in use at one time
  void* data = map_block(capacity);
  if (!data && all.bytes > 0) {
    drop_mapped(all, all.bytes);
    data = map_block(capacity);
  }
  if (!data) throw std::bad_alloc();
  return data;
}

/// Neighbours become one block.
void give_mapped(void* data, std::size_t capacity) {
  MappedBlocks& all = mapped_blocks();
  madvise(data, capacity, MADV_FREE);
  const std::lock_guard lock(all.mutex);
  MappedBlocks::Block given{static_cast<char*>(data), capacity};
  all.bytes += capacity;
  std::erase_if(all.kept, [&given](const MappedBlocks::Block& kept) {
    const bool before = kept.data + kept.capacity == given.data;
    if (!before && given.data + given.capacity != kept.data) return false;
    given = {before ? kept.data : given.data, kept.capacity + given.capacity};
    return true;
  });
  all.kept.push_back(given);
  if (all.bytes > all.limit) drop_mapped(all, all.bytes - all.limit);
}

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
    std::ranges::fill(small_blocks.room, 0);
    for (auto& head : small_blocks.heads)
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
  std::ranges::fill(small_blocks.room, class_limit);
}

#if defined(APSIS_SANITIZED) || defined(APSIS_VALGRIND)
constexpr bool pooling = false;  // so that the sanitizer sees every free
#else
constexpr bool pooling = true;
#endif

/// What is allocated for a large request: rounded up to one of eight sizes an octave, so that similar ones
/// can share; of huge pages a whole number.
std::size_t large_capacity(std::size_t bytes) {
  const std::size_t unit = std::max(std::bit_floor(bytes) / 8, bytes >= huge_page ? huge_page : 0);
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

/// The system promises more memory than there is, and ends the process that uses it: what cannot be is
/// refused before.
void refuse_beyond_memory(std::size_t bytes) {
  constexpr std::size_t large = std::size_t(1) << 30;  // less is not worth the question
  if (bytes <= large) return;
  static const auto most = static_cast<std::size_t>(machine_memory());
  if (bytes > most) throw std::bad_alloc();
}

}  // namespace

void* new_block(std::size_t bytes) {
  refuse_beyond_memory(bytes);
  if (pooling && bytes >= large_block) {
    const std::size_t capacity = large_capacity(bytes);
    if (capacity >= huge_page) return take_mapped(capacity);
    void* block = take_large(capacity);
    return block ? block : acquire(capacity);
  }
  return acquire(std::max((bytes + alignment - 1) / alignment, std::size_t{1}) * alignment);
}

void give_back_block(void* block, std::size_t bytes) {
  const bool large = bytes >= large_block;
  const std::size_t capacity = large ? large_capacity(bytes) : bytes;
  if (pooling && capacity >= huge_page) return give_mapped(block, capacity);
  if (pooling && !pool.closed) {
    watch_pool();
    if (large && keep_large(block, capacity)) return;
    const std::size_t c = SmallBlocks::class_of(bytes);
    if (c < class_count && small_blocks.room[c] > 0) return small_blocks.keep(block, c);
  }
  release(block);
}

void* allocate_block(std::size_t bytes) { return take_block(bytes); }
void free_block(void* block, std::size_t bytes) { give_block(block, bytes); }

void count_memory(std::int64_t bytes) { small_blocks.count(bytes); }
MemoryUse memory_use() { return small_blocks.use; }
void reset_peak_memory() { small_blocks.use.peak = small_blocks.use.live; }

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
