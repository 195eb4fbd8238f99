#pragma once

// More orders of entries, as in jax.numpy. NaN counts as the greatest number.

#include "apsis/ops/sort.hpp"

namespace apsis {

/// Options of `sort` and `argsort`.
struct SortOptions {
  int axis = -1;
  bool descending = false;  ///< the greatest first; equal entries keep their order
};
/// In order along an axis.
Array sort(const Array& x, const SortOptions& options, Loc loc = Loc::here());
/// The indices (i64) that sort an axis.
Array argsort(const Array& x, const SortOptions& options, Loc loc = Loc::here());
/// The indices that sort several arrays alike: by the last, ties by the one before, …. (numpy.lexsort)
Array lexsort(std::span<const Array> keys, int axis = -1, Loc loc = Loc::here());
Array lexsort(std::initializer_list<Array> keys, int axis = -1, Loc loc = Loc::here());
/// Such that no entry before the place kth is greater than the one there, and none behind is less. The axis
/// tells it from `partition` of trees.
Array partition(const Array& x, std::int64_t kth, int axis, Loc loc = Loc::here());
/// The indices of such an order.
Array argpartition(const Array& x, std::int64_t kth, int axis, Loc loc = Loc::here());

}  // namespace apsis
