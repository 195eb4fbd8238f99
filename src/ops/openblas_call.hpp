#pragma once

#include <cblas.h>

#include <mutex>

namespace apsis::detail {

/// While there is one, no other thread is inside of OpenBLAS. Its serial build finds the buffers that it
/// packs matrices into without a lock (blas_memory_alloc in memory.c, version 0.3.21): two threads there may
/// get one buffer, and wrong products. Builds with threads have locks of their own.
class OpenblasCall {
 public:
  OpenblasCall() {
    static const bool serial = openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
    if (serial) lock_ = std::unique_lock(mutex_);
  }

 private:
  static inline constinit std::mutex mutex_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace apsis::detail
