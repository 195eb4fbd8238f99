#pragma once

// What loops and branches carry of complex arrays: the real and the imaginary part, each an array of its own,
// so that both live in registers and lanes as other numbers do.

#include <vector>

#include "ops/complex.hpp"

namespace apsis::detail {

/// The arrays of the given avals from what `with_parts` made of them.
std::vector<Array> without_parts(std::span<const Array> parts, std::span<const Aval> avals);
/// The region with each complex input and output as its two parts.
GraphRef over_parts(const GraphRef& region);

}  // namespace apsis::detail
