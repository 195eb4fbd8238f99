#pragma once

#include <cstdint>

#include "core/memory.hpp"

namespace apsis::testing {

/// The most memory in use at once during a call, beside what was there before.
template <class F>
std::int64_t peak_of(const F& f) {
  f();  // compiled, pools and thread's scratch made
  detail::reset_peak_memory();
  const std::int64_t before = detail::memory_use().live;
  f();
  return detail::memory_use().peak - before;
}

}  // namespace apsis::testing
