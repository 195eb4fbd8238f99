#pragma once

#include <span>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// The mean of the squares of all elements of all leaves, and its root.
Array mean_square(std::span<const Array> leaves);
Array rms_norm(std::span<const Array> leaves);
/// True if all elements of all leaves are finite.
Array all_finite(std::span<const Array> leaves);

}  // namespace apsis::detail
