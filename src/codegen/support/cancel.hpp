#pragma once

#include <cstdint>

namespace apsis::detail {

/// The flag that calls of this thread poll: never null; not zero once the call is to stop.
inline constexpr std::uint32_t never_cancelled = 0;
extern constinit thread_local const std::uint32_t* cancel_flag [[gnu::tls_model("initial-exec")]];
/// For loops that are interpreted: throws if the flag is set.
[[noreturn]] void fail_cancelled();
inline void poll_cancelled() {
  if (__atomic_load_n(cancel_flag, __ATOMIC_RELAXED) != 0) [[unlikely]]
    fail_cancelled();
}

}  // namespace apsis::detail
