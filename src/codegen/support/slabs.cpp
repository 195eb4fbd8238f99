#include "codegen/support/slabs.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "core/memory.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t smallest = 8 << 10, largest = 8 << 20;  // usual sizes: the powers of two between
constexpr std::int64_t huge_page = 2 << 20;
constexpr std::int64_t keep_limit = 64 << 20;  // bytes

int class_of(std::int64_t bytes) { return std::countr_zero(static_cast<std::uint64_t>(bytes)); }

/// Slabs of the usual sizes that nobody uses.
class Kept {
 public:
  void* take(std::int64_t bytes) {
    std::scoped_lock lock(mutex_);
    Free*& first = slabs_[static_cast<std::size_t>(class_of(bytes))];
    if (!first) return nullptr;
    bytes_ -= bytes;
    return std::exchange(first, first->next);
  }
  bool keep(void* slab, std::int64_t bytes) noexcept {
    std::scoped_lock lock(mutex_);
    if (bytes_ + bytes > keep_limit) return false;
    Free*& first = slabs_[static_cast<std::size_t>(class_of(bytes))];
    first = new (slab) Free{first};
    bytes_ += bytes;
    return true;
  }

 private:
  struct Free {
    Free* next;
  };
  std::mutex mutex_;
  std::array<Free*, 24> slabs_{};
  std::int64_t bytes_ = 0;
};
static_assert(largest < 1 << 24);

Kept& kept() {
  static auto* slabs = new Kept;  // outlives every call
  return *slabs;
}

/// A long tape is written once from end to end: in pages of the usual size the system would be asked, and
/// would clear, at every one of them.
void* allocate(std::int64_t bytes) {
  const std::int64_t page = bytes >= huge_page ? huge_page : 64;
  void* memory = std::aligned_alloc(static_cast<std::size_t>(page),
                                    static_cast<std::size_t>((bytes + page - 1) / page * page));
  if (!memory) throw std::bad_alloc();
  if (page == huge_page) madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return memory;
}

}  // namespace

Slabs::~Slabs() {
  for (const Slab& slab : slabs_)
    if (slab.bytes > largest || !kept().keep(slab.memory, slab.bytes)) std::free(slab.memory);
  count_memory(-bytes_);
}

void* Slabs::take(std::int64_t bytes) {
  if (left_ >= bytes) {
    left_ -= bytes;
    return std::exchange(at_, at_ + bytes);
  }
  const bool usual = bytes <= largest;
  if (usual)
    usual_ = std::clamp(
        std::max(2 * usual_, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)))),
        smallest, largest);
  const std::int64_t size = usual ? usual_ : bytes;
  if (bytes_ + size > limit_) return nullptr;
  std::unique_ptr<void, decltype(&std::free)> memory(usual ? kept().take(size) : nullptr, std::free);
  if (!memory) memory.reset(allocate(size));
  slabs_.push_back({memory.get(), size});
  bytes_ += size;
  count_memory(size);
  if (usual) {
    at_ = static_cast<char*>(memory.get()) + bytes;
    left_ = size - bytes;
  }
  return memory.release();
}

}  // namespace apsis::detail
