#pragma once

#include <cblas.h>

#include <mutex>

#include "apsis/core/outside_library.hpp"

namespace apsis::detail {

inline constexpr OutsideLibrary openblas{APSIS_OPENBLAS_FILE};
#define APSIS_OPENBLAS(function) APSIS_FROM(openblas, function)

/// While there is one, no other thread is inside of OpenBLAS. Its serial build finds the buffers that it
/// packs matrices into without a lock (blas_memory_alloc in memory.c, version 0.3.21): two threads there may
/// get one buffer, and wrong products. Builds with threads have locks of their own.
class OpenblasCall {
 public:
  OpenblasCall() {
    static const bool serial = APSIS_OPENBLAS(openblas_get_parallel)() == OPENBLAS_SEQUENTIAL;
    if (serial) lock_ = std::unique_lock(mutex_);
  }

 private:
  static inline constinit std::mutex mutex_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace apsis::detail
