#pragma once

#include <cstdint>

namespace apsis::detail {

/// The flag that calls of this thread poll: never null; not zero once the call is to stop.
inline constexpr std::uint32_t never_cancelled = 0;
extern constinit thread_local const std::uint32_t* cancel_flag [[gnu::tls_model("initial-exec")]];
/// For loops that are interpreted: throws if the flag is set.
void poll_cancelled();

}  // namespace apsis::detail
