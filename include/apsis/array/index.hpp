#pragma once

// Positions in arrays, and choosing by them, as in jax.numpy.

#include <array>

#include "apsis/ops/index.hpp"

namespace apsis {

/// x with x[.., indices[.., i, ..], ..] = values[.., i, ..]: what `take_along_axis` reads, written.
Array put_along_axis(const Array& x, const Array& indices, const Array& values, int axis,
                     Loc loc = Loc::here());
/// The choice of the first condition that holds, elementwise; `otherwise` where none does. Throws unless
/// there are as many choices as conditions.
Array select(std::span<const Array> conditions, std::span<const Array> choices, const Array& otherwise = 0,
             Loc loc = Loc::here());
Array select(std::initializer_list<Array> conditions, std::initializer_list<Array> choices,
             const Array& otherwise = 0, Loc loc = Loc::here());

/// What an index that is out of bounds means: the nearest one, or one modulo the size.
enum class OutOfBounds : std::uint8_t { Clip, Wrap };
/// Of the choice that an integer names, its element at this place.
Array choose(const Array& which, std::span<const Array> choices, OutOfBounds mode = OutOfBounds::Clip,
             Loc loc = Loc::here());
Array choose(const Array& which, std::initializer_list<Array> choices, OutOfBounds mode = OutOfBounds::Clip,
             Loc loc = Loc::here());

/// Vectors of indices, the i-th along axis i: x(a, b) of `ix_({a, b})` is a grid of rows and columns.
std::vector<Array> ix_(std::initializer_list<Array> vectors, Loc loc = Loc::here());
/// The indices of the diagonal of an array of `ndim` axes of size n.
std::vector<Array> diag_indices(std::int64_t n, int ndim = 2, Loc loc = Loc::here());
/// The indices of the diagonal of an array of equal sizes.
std::vector<Array> diag_indices_from(const Array& x, Loc loc = Loc::here());
/// Rows and columns on and below the k-th diagonal of an n × m matrix; m = n if it is negative.
std::array<Array, 2> tril_indices(std::int64_t n, int k = 0, std::int64_t m = -1, Loc loc = Loc::here());
/// Rows and columns on and above the k-th diagonal of an n × m matrix; m = n if it is negative.
std::array<Array, 2> triu_indices(std::int64_t n, int k = 0, std::int64_t m = -1, Loc loc = Loc::here());
/// tril_indices of a matrix' sizes.
std::array<Array, 2> tril_indices_from(const Array& x, int k = 0, Loc loc = Loc::here());
/// triu_indices of a matrix' sizes.
std::array<Array, 2> triu_indices_from(const Array& x, int k = 0, Loc loc = Loc::here());

/// The index along each axis of the elements with these row-major numbers; numbers out of bounds are
/// clipped.
std::vector<Array> unravel_index(const Array& numbers, const Shape& shape, Loc loc = Loc::here());
/// The row-major number of the elements at these indices, one array an axis.
Array ravel_multi_index(std::span<const Array> indices, const Shape& shape,
                        OutOfBounds mode = OutOfBounds::Clip, Loc loc = Loc::here());
Array ravel_multi_index(std::initializer_list<Array> indices, const Shape& shape,
                        OutOfBounds mode = OutOfBounds::Clip, Loc loc = Loc::here());

}  // namespace apsis
