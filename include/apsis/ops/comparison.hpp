#pragma once

// Comparisons, elementwise, with boolean results, and the larger and smaller of two. Operands are broadcast
// and promoted as in arithmetic. Comparisons with NaN are false, but != is true.

#include "apsis/core/array.hpp"

namespace apsis {

Array operator==(const Operand& a, const Operand& b);  ///< Elementwise; trees are compared with tree_equal.
Array operator!=(const Operand& a, const Operand& b);  ///< Elementwise; true for NaN.
// The ordering comparisons throw for booleans: `0. < x < 1.` compares the result of the first with 1.
Array operator<(const Operand& a, const Operand& b);   ///< Throws for booleans.
Array operator<=(const Operand& a, const Operand& b);  ///< Throws for booleans.
Array operator>(const Operand& a, const Operand& b);   ///< Throws for booleans.
Array operator>=(const Operand& a, const Operand& b);  ///< Throws for booleans.

/// The larger of a and b; NaN if either is, and -0 counts as smaller than +0. A tie shares the tangent
/// evenly.
Array maximum(const Array& a, const Array& b, Loc loc = Loc::here());
/// The smaller of a and b; NaN if either is.
Array minimum(const Array& a, const Array& b, Loc loc = Loc::here());
/// minimum(maximum(x, low), high).
Array clip(const Array& x, const Array& low, const Array& high, Loc loc = Loc::here());

}  // namespace apsis
