#pragma once

// The op table: every op of the library, one line each in table.inc.

#include <span>

#include "apsis/core/op.hpp"

namespace apsis::detail {

#define APSIS_OP(name) extern const Op name##_op;
#include "ops/table.inc"
#undef APSIS_OP

/// Every built-in op, in the order of table.inc.
std::span<const Op* const> op_table();

}  // namespace apsis::detail
