#pragma once

#include "apsis/core/array.hpp"

namespace apsis {

/// The next number above x in its dtype (f32 or f64). Subnormals count as zero: above 0 comes the smallest
/// normal number, so that `nextafter(x) > x` holds on machines that flush them. +∞ and NaN stay. The
/// derivative is that of x. For evaluating just behind a jump. (Equinox: nextafter.)
Array nextafter(const Array& x, Loc loc = Loc::here());
/// The next number below x; below 0 comes the largest negative normal number. See nextafter.
Array prevbefore(const Array& x, Loc loc = Loc::here());

}  // namespace apsis
