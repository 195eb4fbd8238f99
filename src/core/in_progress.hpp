#pragma once

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// Whether the transformation that made a tracer goes on, on this thread.
bool is_in_progress(const Array& tracer);

/// The concrete array behind a value. Throws, naming `where`, if there is none yet.
const Array& require_concrete(const Array& a, const char* where, Loc loc);

}  // namespace apsis::detail
