#pragma once

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// Whether a NaN in any floating operand always shows as a NaN in the result, where that is floating and has
/// elements: then a test of the result finds it too. An op that is not known to do so does not.
bool spreads_nan(const Op& op);

}  // namespace apsis::detail
