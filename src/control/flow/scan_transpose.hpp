#pragma once

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// The transpose rule of scan.
void scan_transpose(const TransposeRule& rule);

}  // namespace apsis::detail
