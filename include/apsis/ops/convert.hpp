#pragma once

#include "apsis/core/array.hpp"

namespace apsis {

/// The elements as another dtype, strongly typed. Floats to integers truncate and saturate, NaN becomes 0;
/// integers wrap; anything not 0 is true; complex to real drops the imaginary part.
Array astype(const Array& x, Dtype dtype, Loc loc = Loc::here());

}  // namespace apsis
