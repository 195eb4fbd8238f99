#pragma once

// What public functions do with their arguments before they bind: axes made non-negative, dtypes promoted,
// shapes broadcast. Errors name the function and the caller's line.

#include <span>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// The axis as a number in [0, rank). Throws if it is not there.
int checked_axis(const char* where, std::int64_t axis, const Shape& shape, Loc loc);
/// All axes so; throws if one is named twice.
Dims checked_axes(const char* where, const Dims& axes, const Shape& shape, Loc loc);
/// Converted to the least upper bound of their dtypes.
std::vector<Array> promoted(std::span<const Array> arrays);
/// The shape that all broadcast to. Throws if there is none.
Shape broadcast_shapes(const char* where, std::span<const Shape> shapes, Loc loc);
/// Broadcast to a shape that `x` is known to broadcast to.
Array broadcast_last(const Array& x, const Shape& shape);
/// Integer indices as i64, negative ones counted from the end of an axis of `size`. Throws for other dtypes.
Array index_values(const char* where, const Array& indices, std::int64_t size, Loc loc);

}  // namespace apsis::detail
