#pragma once

// Sorting. All sorts are stable; NaN is last, -0 equals 0, complex numbers order by real, then imaginary
// part.

#include <span>
#include <utility>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {

/// Ascending along an axis.
Array sort(const Array& x, int axis = -1, Loc loc = Loc::here());
/// Several arrays of equal shape, rearranged alike: ascending by the first, ties by the second, … up to
/// `num_keys`.
std::vector<Array> sort(std::span<const Array> operands, int axis = -1, int num_keys = 1,
                        Loc loc = Loc::here());
/// The indices (i64) that sort an axis.
Array argsort(const Array& x, int axis = -1, Loc loc = Loc::here());
/// The same by several arrays of equal shape: by the first, ties by the second, …
Array argsort(std::span<const Array> keys, int axis = -1, Loc loc = Loc::here());
/// The k greatest entries of an axis, the greatest first, and where they are (i64); equal ones keep their
/// order, NaN is the greatest. Throws for more than there are.
std::pair<Array, Array> top_k(const Array& x, std::int64_t k, int axis = -1, Loc loc = Loc::here());
/// Where each of `values` would go in a sorted vector to keep it sorted; before equal entries, or after with
/// `right`.
Array searchsorted(const Array& sorted, const Array& values, bool right = false, Loc loc = Loc::here());

}  // namespace apsis
