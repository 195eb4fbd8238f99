#pragma once

#include <string>

#include "apsis/base/loc.hpp"
#include "apsis/core/aval.hpp"

namespace apsis::detail {

/// The number of elements of an array. Throws if a size is negative, or if the array, each size of 0 taken
/// as 1, has more than 2^48 bytes: so strides, offsets and sums of the sizes of Avals fit in 64 bits.
std::int64_t checked_count(Dtype dtype, const Shape& shape);

/// The same product of two sizes of a shape to be made, and their sum; what does not fit becomes a number
/// that `checked_count` refuses.
std::int64_t size_product(std::int64_t a, std::int64_t b);
std::int64_t size_sum(std::int64_t a, std::int64_t b);

/// The error of an axis that a shape does not have.
[[noreturn]] void fail_axis(const char* where, std::int64_t axis, const Shape& shape, Loc loc);

/// `24 bytes`, `3.2 GiB`.
std::string bytes_text(double bytes);

/// What allocating fails with: names what was to be made, and what there is.
[[noreturn]] void fail_memory(const Aval& aval);

}  // namespace apsis::detail
