#pragma once

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// `current_trace()`, for those who ask on every call.
extern constinit thread_local Trace* trace_of_thread [[gnu::tls_model("initial-exec")]];

}  // namespace apsis::detail
