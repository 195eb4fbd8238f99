#pragma once

#include "transform/jit/jit_entry.hpp"

namespace apsis::detail {

/// How many CheckCaptures live on this thread.
extern constinit thread_local int capture_checkers [[gnu::tls_model("initial-exec")]];  // asked on every call
inline bool checking_captures() { return capture_checkers > 0; }
/// Whether calls are to be checked at all: always in builds with assertions, where each program is checked
/// once.
inline bool check_wanted() {
#ifdef _GLIBCXX_ASSERTIONS
  return true;
#else
  return checking_captures();
#endif
}
/// Traces the call again; throws if that gives another program than the entry's, or one that uses other
/// values from outside.
void check_captures(const JitEntry& entry, const JitCall& call, const char* name, const Checks& checks,
                    Loc loc);

}  // namespace apsis::detail
