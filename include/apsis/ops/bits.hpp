#pragma once

// The bits of numbers, and numbers of fewer bits. As in jax.lax.

#include "apsis/core/array.hpp"

namespace apsis {

/// The bits of x read as another dtype of integers or floating-point numbers. Where an element of x has more
/// bits, it becomes several, the one of the lowest bits first, along a new last axis; where it has fewer, the
/// last axis holds what becomes one element, and goes. Without derivative. Throws for booleans and complex
/// numbers, and where the last axis does not fit.
Array bitcast_convert_type(const Array& x, Dtype dtype, Loc loc = Loc::here());

/// x rounded, ties to even, to a floating-point number of so many bits of exponent and fraction, whose
/// subnormal numbers count as zero; of x's dtype still. Numbers that are too large become infinite. Linear
/// for derivatives, which are rounded too. Throws for integers, for no bits of exponent and for negative
/// numbers of bits. {8, 7} is bf16, {5, 10} f16.
Array reduce_precision(const Array& x, int exponent_bits, int mantissa_bits, Loc loc = Loc::here());

}  // namespace apsis
