#pragma once

#include <span>
#include <vector>

#include "apsis/diffeq/controller.hpp"

namespace apsis::detail {

/// The mean of the squares of all elements of all leaves, and its root.
Array mean_square(std::span<const Array> leaves);
Array rms_norm(std::span<const Array> leaves);
/// The square of how large errors are, each relative to what is allowed, leaf after leaf of the state: by the
/// norm of the tolerances, or by the mean of those that are not left out.
Array error_square(const Tolerances& tolerances, std::span<const Array> errors);
/// True if all elements of all leaves are finite.
Array all_finite(std::span<const Array> leaves);

}  // namespace apsis::detail
