#pragma once

#include <span>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// The root mean square over all elements of all leaves.
Array rms_norm(std::span<const Array> leaves);
/// True if all elements of all leaves are finite.
Array all_finite(std::span<const Array> leaves);

}  // namespace apsis::detail
