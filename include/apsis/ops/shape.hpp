#pragma once

// Shapes: reshape and transpose, joining and splitting, repeating and reordering. Axes may be negative: they
// count from the end. Semantics follow jax.numpy.

#include <array>
#include <span>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis {

/// The same elements in row-major order under another shape; one size may be -1, which is worked out. Throws
/// if the numbers of elements differ.
Array reshape(const Array& x, const Shape& shape, Loc loc = Loc::here());
/// One axis of all elements in row-major order.
Array ravel(const Array& x, Loc loc = Loc::here());
/// Axis i of the result is axis `permutation[i]` of x; without one, axes in reverse order: the transposed
/// matrix. Throws if it is no permutation of x's axes.
Array transpose(const Array& x, const Axes& permutation = {}, Loc loc = Loc::here());
/// Moves one axis to another place; the others keep their order.
Array moveaxis(const Array& x, int source, int destination, Loc loc = Loc::here());
/// Two axes change places.
Array swapaxes(const Array& x, int first, int second, Loc loc = Loc::here());
/// Without the named axes, or all of size 1. Throws if a named one is not of size 1.
Array squeeze(const Array& x, const Axes& axes = {}, Loc loc = Loc::here());
/// With a new axis of size 1, which is axis `axis` of the result.
Array expand_dims(const Array& x, int axis, Loc loc = Loc::here());
/// Repeats axes of size 1 and leading new ones until the shape is reached. Throws if it cannot be.
Array broadcast_to(const Array& x, const Shape& shape, Loc loc = Loc::here());

/// Joined along an existing axis, dtypes promoted. Throws if the other axes differ.
Array concatenate(std::initializer_list<Array> parts, int axis = 0, Loc loc = Loc::here());
Array concatenate(std::span<const Array> parts, int axis = 0, Loc loc = Loc::here());
/// Joined along a new axis, dtypes promoted: `stack({u, v})`. Throws if the shapes differ.
Array stack(std::initializer_list<Array> parts, int axis = 0, Loc loc = Loc::here());
Array stack(std::span<const Array> parts, int axis = 0, Loc loc = Loc::here());
/// The entries along an axis, each without it.
std::vector<Array> unstack(const Array& x, int axis = 0, Loc loc = Loc::here());
/// `auto [u, v] = unstack<2>(y)`. Throws if the axis is not of size N.
template <std::size_t N>
std::array<Array, N> unstack(const Array& x, int axis = 0, Loc loc = Loc::here());
/// Equal parts along an axis. Throws if its size is not divisible.
std::vector<Array> split(const Array& x, std::int64_t parts, int axis = 0, Loc loc = Loc::here());
/// Parts that begin at the given places of an axis, the first at 0.
std::vector<Array> split_at(const Array& x, const Dims& places, int axis = 0, Loc loc = Loc::here());

/// The whole array repeated `repeats[i]` times along axis i; missing leading axes are added on either side.
Array tile(const Array& x, const Dims& repeats, Loc loc = Loc::here());
/// Each entry of an axis repeated `count` times.
Array repeat(const Array& x, std::int64_t count, int axis, Loc loc = Loc::here());
/// Each element, in row-major order: a vector.
Array repeat(const Array& x, std::int64_t count, Loc loc = Loc::here());
/// Entries move by `shift` along an axis, round the end.
Array roll(const Array& x, std::int64_t shift, int axis, Loc loc = Loc::here());
/// All elements, in row-major order; the shape stays.
Array roll(const Array& x, std::int64_t shift, Loc loc = Loc::here());
/// Entries in reverse order along all axes, or the named ones.
Array flip(const Array& x, const Axes& axes = {}, Loc loc = Loc::here());
/// Differences of neighbours along an axis, one entry fewer.
Array diff(const Array& x, int axis = -1, Loc loc = Loc::here());
/// `low[i]` and `high[i]` copies of `value` before and after axis i; negative numbers crop.
Array pad(const Array& x, const Dims& low, const Dims& high, const Array& value = 0, Loc loc = Loc::here());
/// The last two axes with zeros above the k-th diagonal.
Array tril(const Array& x, int k = 0, Loc loc = Loc::here());
/// The last two axes with zeros below the k-th diagonal.
Array triu(const Array& x, int k = 0, Loc loc = Loc::here());
/// A vector as the diagonal of a square matrix, or the diagonal of a matrix.
Array diag(const Array& x, Loc loc = Loc::here());

namespace detail {
void unstack_into(const Array& x, int axis, std::span<Array> out, Loc loc);
}

template <std::size_t N>
std::array<Array, N> unstack(const Array& x, int axis, Loc loc) {
  std::array<Array, N> out;
  detail::unstack_into(x, axis, out, loc);
  return out;
}

}  // namespace apsis
