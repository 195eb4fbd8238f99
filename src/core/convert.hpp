#pragma once

#include <cstddef>

#include "apsis/core/dtype.hpp"

namespace apsis::detail {

/// Converts `count` elements as JAX's astype does: floats to integers truncate and saturate (NaN becomes 0),
/// integers wrap, anything to bool is `!= 0`, complex to real drops the imaginary part.
void convert_elements(Dtype from, const void* in, Dtype to, void* out, std::size_t count);

}  // namespace apsis::detail
