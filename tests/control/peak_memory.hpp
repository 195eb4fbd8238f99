#pragma once

#include <cstdint>

#include "core/memory.hpp"

namespace apsis::testing {

/// The most memory in use at once during a first call, beside what was there before: with the thread's
/// scratch, as far as it has to grow.
template <class F>
std::int64_t peak_of_first(const F& f) {
  detail::reset_peak_memory();
  const std::int64_t before = detail::memory_use().live;
  f();
  return detail::memory_use().peak - before;
}

/// The same of a call when the program has been compiled, and pools and scratch have been made.
template <class F>
std::int64_t peak_of(const F& f) {
  f();
  return peak_of_first(f);
}

}  // namespace apsis::testing
