#pragma once

// Complex numbers brought to the middle of the range, where their squares are neither infinite nor subnormal.

#include "ops/complex.hpp"

namespace apsis::detail::parts {

/// The larger of |x| and |y|; of a NaN nothing is promised.
Array largest_part(const Parts& z);
/// A power of two that brings numbers up to `size` to the middle; 1 for those in it.
Array middle_scale(const Array& size);
/// A power of two that brings numbers of size `size` away from the ends of the range; 1 for those that are.
Array inner_scale(const Array& size);
Parts scaled_by(const Parts& z, const Array& scale);
/// Whether a part is infinite.
Array is_infinite(const Parts& z);

}  // namespace apsis::detail::parts
