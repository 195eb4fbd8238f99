#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "core/memory.hpp"

namespace apsis::detail {

/// Memory for what a kernel computes on the way: up to 2 MiB are kept by each thread, so that no call
/// allocates. One at a time for each `Owner`.
template <class Owner>
class KeptScratch {
 public:
  explicit KeptScratch(std::size_t bytes) : bytes_(bytes) {
    constexpr std::size_t limit = 2 << 20;
    if (bytes > limit) {
      data_ = own_ = allocate_block(bytes);
      return;
    }
    static thread_local Memory memory;
    if (memory.bytes < bytes) {
      constexpr std::size_t page = 4096;
      memory.bytes = (bytes + page - 1) / page * page;
      memory.data.reset(std::aligned_alloc(page, memory.bytes));
      if (!memory.data) {
        memory.bytes = 0;
        throw std::bad_alloc();
      }
    }
    data_ = memory.data.get();
  }
  ~KeptScratch() {
    if (own_) free_block(own_, bytes_);
  }
  KeptScratch(const KeptScratch&) = delete;
  KeptScratch& operator=(const KeptScratch&) = delete;
  void* data() const { return data_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  struct Memory {
    std::unique_ptr<void, Free> data;
    std::size_t bytes = 0;
  };
  std::size_t bytes_;
  void *data_ = nullptr, *own_ = nullptr;
};

}  // namespace apsis::detail
