#pragma once

// Choosing between values, and classes of floating-point numbers.

#include "apsis/core/array.hpp"

namespace apsis {

/// `if_true` where the condition holds, else `if_false`, elementwise. The three are broadcast, the two values
/// promoted. Both are computed; what is not chosen leaves no trace in the value, nor in derivatives (within
/// the limits that docs/design/transformations.md states).
Array where(const Array& condition, const Array& if_true, const Array& if_false, Loc loc = Loc::here());
/// Boolean, for any real dtype.
Array isnan(const Array& x, Loc loc = Loc::here());
Array isinf(const Array& x, Loc loc = Loc::here());     ///< Either infinity.
Array isfinite(const Array& x, Loc loc = Loc::here());  ///< Neither infinite nor NaN.
/// x, but constant for derivatives.
Array stop_gradient(const Array& x, Loc loc = Loc::here());

}  // namespace apsis
