#pragma once

// Results with as many entries as the values tell. Where values are known (outside of jit and vmap, and in
// grad and jvp) they are exact. Elsewhere, and wherever it is wanted, `size` says how many entries there are:
// what is too much is left out, what is missing is filled in. All throw, naming the option, where neither is.

#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {

/// How long a result is whose length depends on values.
struct SizedOptions {
  std::int64_t size = -1;  ///< -1: as many as there are, which must be known
  Array fill = {};         ///< what is filled in; without, see the function
};

/// The indices of the elements that are not 0, an array (i64) an axis. Filled with 0.
std::vector<Array> nonzero(const Array& x, const SizedOptions& options = {}, Loc loc = Loc::here());
/// The row-major numbers of the elements that are not 0. Filled with 0.
Array flatnonzero(const Array& x, const SizedOptions& options = {}, Loc loc = Loc::here());
/// [count, x.ndim()]: the indices of the elements that are not 0. Filled with 0.
Array argwhere(const Array& x, const SizedOptions& options = {}, Loc loc = Loc::here());
/// The elements where the condition, of as many elements, holds. Filled with 0.
Array extract(const Array& condition, const Array& x, const SizedOptions& options = {},
              Loc loc = Loc::here());
/// The entries of an axis where a vector of conditions holds; it may be shorter. Filled with 0.
Array compress(const Array& condition, const Array& x, int axis, const SizedOptions& options = {},
               Loc loc = Loc::here());
/// Of all elements in row-major order: a vector.
Array compress(const Array& condition, const Array& x, const SizedOptions& options = {},
               Loc loc = Loc::here());

/// The different elements of an array, in ascending order. All NaN are one.
struct Unique {
  Array values;   ///< filled with the least one
  Array indices;  ///< of the first element of each value, in row-major order
  Array inverse;  ///< of x's shape: which value each element is
  Array counts;   ///< how many elements have each value; filled with 0
};
/// The different elements of an array, in ascending order.
Array unique(const Array& x, const SizedOptions& options = {}, Loc loc = Loc::here());
/// The same with what else is known of them.
Unique unique_all(const Array& x, const SizedOptions& options = {}, Loc loc = Loc::here());

/// Whether each element of x is among those of `among`. NaN is never.
Array isin(const Array& x, const Array& among, Loc loc = Loc::here());
/// The elements of either array, in ascending order, without repetition.
Array union1d(const Array& a, const Array& b, const SizedOptions& options = {}, Loc loc = Loc::here());
/// The elements of both arrays, in ascending order, without repetition. Filled with the least.
Array intersect1d(const Array& a, const Array& b, const SizedOptions& options = {}, Loc loc = Loc::here());
/// The elements of a that are not in b, in ascending order, without repetition. Filled with the least.
Array setdiff1d(const Array& a, const Array& b, const SizedOptions& options = {}, Loc loc = Loc::here());
/// The elements of one array that are not in the other, in ascending order, without repetition.
Array setxor1d(const Array& a, const Array& b, const SizedOptions& options = {}, Loc loc = Loc::here());

/// Options of `bincount`.
struct BincountOptions {
  Array weights = {};        ///< of x's shape: what each element counts; without, 1
  std::int64_t length = -1;  ///< -1: up to the greatest element, which must be known
};
/// How often each number 0, 1, … occurs in a vector of integers. Negative ones count as 0, those past the
/// length not at all.
Array bincount(const Array& x, const BincountOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis
