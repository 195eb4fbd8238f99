#include "core/memory.hpp"

#include <cstdint>
#include <new>

namespace apsis::detail {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t class_count = 32;    // 64, 128, …, 2048 bytes
constexpr std::uint32_t class_limit = 64;  // blocks kept per class and thread

struct Pool {
  struct Free { Free* next; };
  Free* heads[class_count];
  std::uint32_t counts[class_count];
  bool closed;
};
// Trivially destructible, so that it may be used while other thread-locals are being destroyed.
thread_local constinit Pool pool{};

struct PoolCloser {
  ~PoolCloser() {
    pool.closed = true;
    for (auto& head : pool.heads)
      while (head) {
        auto* next = head->next;
        ::operator delete(head, std::align_val_t{alignment});
        head = next;
      }
  }
};
thread_local PoolCloser closer;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool pooling = false;  // so that the sanitizer sees every free
#else
constexpr bool pooling = true;
#endif

std::size_t class_of(std::size_t bytes) { return bytes == 0 ? 0 : (bytes - 1) / alignment; }

}  // namespace

void* allocate_block(std::size_t bytes) {
  std::size_t c = class_of(bytes);
  if (pooling && c < class_count) {
    if (auto* block = pool.heads[c]) {
      pool.heads[c] = block->next;
      --pool.counts[c];
      return block;
    }
  }
  return ::operator new((c + 1) * alignment, std::align_val_t{alignment});
}

void free_block(void* block, std::size_t bytes) {
  std::size_t c = class_of(bytes);
  if (pooling && c < class_count && !pool.closed && pool.counts[c] < class_limit) {
    if (pool.counts[c] == 0) (void)&closer;  // touch: registers the clean-up of this thread
    auto* free = static_cast<Pool::Free*>(block);
    free->next = pool.heads[c];
    pool.heads[c] = free;
    ++pool.counts[c];
    return;
  }
  ::operator delete(block, std::align_val_t{alignment});
}

}  // namespace apsis::detail
