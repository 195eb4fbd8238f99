#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "core/memory.hpp"

namespace apsis::detail {

/// Whole pages of memory, which stay as many as were asked for once.
class KeptPages {
 public:
  void* at_least(std::size_t bytes) {
    constexpr std::size_t page = 4096;
    if (bytes_ < bytes) {
      bytes_ = (bytes + page - 1) / page * page;
      data_.reset(std::aligned_alloc(page, bytes_));
      if (!data_) {
        bytes_ = 0;
        throw std::bad_alloc();
      }
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  std::size_t bytes_ = 0;
};

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
    static thread_local KeptPages pages;
    data_ = pages.at_least(bytes);
  }
  ~KeptScratch() {
    if (own_) free_block(own_, bytes_);
  }
  KeptScratch(const KeptScratch&) = delete;
  KeptScratch& operator=(const KeptScratch&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void *data_ = nullptr, *own_ = nullptr;
};

}  // namespace apsis::detail
