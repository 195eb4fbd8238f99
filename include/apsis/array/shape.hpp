#pragma once

// More of joining, splitting and rearranging, as in jax.numpy. Axes may be negative: they count from the end.

#include "apsis/ops/shape.hpp"

namespace apsis {

/// Axis `axis` moves in front of axis `start`. (numpy.rollaxis)
Array rollaxis(const Array& x, int axis, int start = 0, Loc loc = Loc::here());
/// The last two axes change places.
Array matrix_transpose(const Array& x, Loc loc = Loc::here());
/// What the shapes broadcast to. Throws if they do not.
Shape broadcast_shapes(std::initializer_list<Shape> shapes, Loc loc = Loc::here());
/// All of the shape that they broadcast to.
std::vector<Array> broadcast_arrays(std::span<const Array> arrays, Loc loc = Loc::here());
std::vector<Array> broadcast_arrays(std::initializer_list<Array> arrays, Loc loc = Loc::here());

Array atleast_1d(const Array& x, Loc loc = Loc::here());  ///< A scalar becomes a vector.
Array atleast_2d(const Array& x, Loc loc = Loc::here());  ///< A vector becomes a row.
Array atleast_3d(const Array& x, Loc loc = Loc::here());  ///< A vector becomes [1, n, 1], a matrix [m, n, 1].

/// Side by side: along axis 1, vectors along axis 0.
Array hstack(std::span<const Array> parts, Loc loc = Loc::here());
Array hstack(std::initializer_list<Array> parts, Loc loc = Loc::here());
/// One below the other: along axis 0, vectors as rows.
Array vstack(std::span<const Array> parts, Loc loc = Loc::here());
Array vstack(std::initializer_list<Array> parts, Loc loc = Loc::here());
/// One behind the other: along axis 2.
Array dstack(std::span<const Array> parts, Loc loc = Loc::here());
Array dstack(std::initializer_list<Array> parts, Loc loc = Loc::here());
/// Vectors as columns of a matrix, beside matrices.
Array column_stack(std::span<const Array> parts, Loc loc = Loc::here());
Array column_stack(std::initializer_list<Array> parts, Loc loc = Loc::here());
/// A matrix of its blocks: each row is joined along the last axis, the rows along the one before.
Array block(std::initializer_list<std::initializer_list<Array>> rows, Loc loc = Loc::here());

/// All elements of both, one after the other.
Array append(const Array& x, const Array& values, Loc loc = Loc::here());
/// `concatenate({x, values}, axis)`.
Array append(const Array& x, const Array& values, int axis, Loc loc = Loc::here());
/// `values` in front of the entries of an axis that the places name (those of x, its size: at the end). They
/// broadcast to one entry a place. Throws for a place that is not there.
Array insert(const Array& x, const Dims& places, const Array& values, int axis, Loc loc = Loc::here());
/// Of all elements in row-major order: a vector.
Array insert(const Array& x, const Dims& places, const Array& values, Loc loc = Loc::here());
/// Without the entries of an axis that the places name. (numpy.delete) Throws for a place that is not there.
Array delete_(const Array& x, const Dims& places, int axis, Loc loc = Loc::here());
/// Of all elements in row-major order: a vector.
Array delete_(const Array& x, const Dims& places, Loc loc = Loc::here());

/// As `split`, but where the size does not divide, the first parts are one longer.
std::vector<Array> array_split(const Array& x, std::int64_t parts, int axis = 0, Loc loc = Loc::here());
std::vector<Array> hsplit(const Array& x, std::int64_t parts, Loc loc = Loc::here());  ///< Undoes hstack.
std::vector<Array> vsplit(const Array& x, std::int64_t parts, Loc loc = Loc::here());  ///< Undoes vstack.
std::vector<Array> dsplit(const Array& x, std::int64_t parts, Loc loc = Loc::here());  ///< Undoes dstack.

Array fliplr(const Array& x, Loc loc = Loc::here());  ///< Axis 1 reversed.
Array flipud(const Array& x, Loc loc = Loc::here());  ///< Axis 0 reversed.
/// Turned by `quarters` right angles, from the first to the second axis.
Array rot90(const Array& x, int quarters = 1, int first = 0, int second = 1, Loc loc = Loc::here());
/// Along several axes, each by a shift of its own.
Array roll(const Array& x, const Dims& shifts, const Axes& axes, Loc loc = Loc::here());
/// Entry i of an axis counts[i] times. Throws for negative counts, or more or fewer of them than entries.
Array repeat(const Array& x, const Dims& counts, int axis, Loc loc = Loc::here());
/// All elements in row-major order, over and over, until the shape is full. (numpy.resize)
Array resize(const Array& x, const Shape& shape, Loc loc = Loc::here());

/// What `pad` puts around an array: the nearest entry; what a mirror on the outermost entries shows, or one
/// behind them; the array again; numbers that run to an end value; or a statistic of the axis.
enum class PadMode : std::uint8_t {
  Edge,
  Reflect,
  Symmetric,
  Wrap,
  LinearRamp,
  Maximum,
  Minimum,
  Mean,
  Median
};
/// Options of `pad` with a mode.
struct PadOptions {
  Array end_value = 0.;          ///< of LinearRamp: a scalar
  std::int64_t stat_length = 0;  ///< of statistics: how many entries at the edge; 0: all
};
/// `low[i]` and `high[i]` entries before and after axis i, made of the array. Throws for negative numbers,
/// and for an empty axis.
Array pad(const Array& x, const Dims& low, const Dims& high, PadMode mode, const PadOptions& options = {},
          Loc loc = Loc::here());

}  // namespace apsis
