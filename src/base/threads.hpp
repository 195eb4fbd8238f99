#pragma once

// Work shared out to threads: those of TBB, of which all callers of the process use the same, as many as it
// may run at once.

#include <cstdint>

namespace apsis::detail {

/// How many threads this process may use, as it was started.
std::int64_t machine_threads();

/// Calls body(state, i) for all i in [0, count), with the caller's rounding and denormal modes. They come
/// after what the caller did before, and before what it does next. `body` throws nothing. False where no
/// thread or no memory was to be had: then some calls may not have been made.
bool share_out(std::int64_t count, void (*body)(const void* state, std::int64_t i), const void* state);
template <class Body>
bool share_out(std::int64_t count, const Body& body) {
  return share_out(
      count, [](const void* state, std::int64_t i) { (*static_cast<const Body*>(state))(i); }, &body);
}

}  // namespace apsis::detail
