#pragma once

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// Whether the transformation that made a tracer goes on, on this thread.
bool is_in_progress(const Array& tracer);

}  // namespace apsis::detail
