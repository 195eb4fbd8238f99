#pragma once

// More arrays from nothing, and matrices from their diagonals, as in jax.numpy.

#include "apsis/ops/creation.hpp"
#include "apsis/ops/shape.hpp"

namespace apsis {

/// Zeros: no array has elements without values. Throws if the shape is too large.
inline Array empty(const Shape& shape, Dtype dtype = f64, Loc loc = Loc::here()) {
  return zeros(shape, dtype, loc);
}
/// Zeros of the shape and dtype of `x`.
inline Array empty_like(const Array& x, Loc loc = Loc::here()) { return zeros_like(x, loc); }

/// Options of `linspace`, `logspace` and `geomspace`.
struct SpaceOptions {
  bool endpoint = true;  ///< `stop` is the last number; otherwise it would be the next
  int axis = 0;          ///< along which the numbers run, where start and stop are no scalars
};
/// `count` numbers at equal distances from start to stop, which broadcast. Throws for a negative count.
Array linspace(const Array& start, const Array& stop, std::int64_t count, const SpaceOptions& options,
               Loc loc = Loc::here());
/// base to the power of linspace(start, stop).
Array logspace(const Array& start, const Array& stop, std::int64_t count = 50,
               const SpaceOptions& options = {}, const Array& base = 10., Loc loc = Loc::here());
/// `count` numbers from start to stop, of equal quotients. Both are of one sign.
Array geomspace(const Array& start, const Array& stop, std::int64_t count = 50,
                const SpaceOptions& options = {}, Loc loc = Loc::here());

/// Ones on and below the k-th diagonal of an n × m matrix; m = n if it is negative.
Array tri(std::int64_t n, std::int64_t m = -1, int k = 0, Dtype dtype = f64, Loc loc = Loc::here());
/// All elements as the k-th diagonal of a square matrix.
Array diagflat(const Array& x, int k = 0, Loc loc = Loc::here());
/// The elements x[…, i, …, i + offset, …] of two axes, along a last axis. Throws for one axis named twice.
Array diagonal(const Array& x, int offset = 0, int axis1 = 0, int axis2 = 1, Loc loc = Loc::here());
/// x with one value on the diagonal of all its axes: of a matrix, or of an array of equal sizes. (numpy:
/// fill_diagonal, by value.)
Array fill_diagonal(const Array& x, const Array& value, Loc loc = Loc::here());
/// Powers x^(n-1), …, x, 1 of a vector's entries as the rows of a matrix, or 1, x, … if `increasing`.
Array vander(const Array& x, std::int64_t n = -1, bool increasing = false, Loc loc = Loc::here());

/// Options of `meshgrid`.
struct MeshgridOptions {
  bool matrix = false;  ///< the first vector runs along axis 0 ("ij"); otherwise along axis 1 ("xy")
  bool sparse = false;  ///< each result has size 1 along the axes of the others
};
/// The coordinates of the points of a grid, an array for each vector.
std::vector<Array> meshgrid(std::span<const Array> vectors, const MeshgridOptions& options = {},
                            Loc loc = Loc::here());
std::vector<Array> meshgrid(std::initializer_list<Array> vectors, const MeshgridOptions& options = {},
                            Loc loc = Loc::here());
/// [sizes.size(), sizes…]: entry i is the index along axis i.
Array indices(const Shape& sizes, Dtype dtype = i64, Loc loc = Loc::here());

// Windows: weights of `count` points, 1 in the middle and falling to both ends. Of one point: 1. All throw
// for a negative count. (Harris, On the use of windows for harmonic analysis, 1978.)

Array bartlett(std::int64_t count, Dtype dtype = f64, Loc loc = Loc::here());  ///< A triangle, 0 at the ends.
/// 0.42 - 0.5 cos 2πt + 0.08 cos 4πt, for t from 0 to 1.
Array blackman(std::int64_t count, Dtype dtype = f64, Loc loc = Loc::here());
Array hamming(std::int64_t count, Dtype dtype = f64, Loc loc = Loc::here());  ///< 0.54 - 0.46 cos 2πt.
Array hanning(std::int64_t count, Dtype dtype = f64, Loc loc = Loc::here());  ///< 0.5 - 0.5 cos 2πt.
/// I₀(β √(1 - (2t - 1)²)) / I₀(β), of the dtype of beta, a floating scalar. (Kaiser 1974)
Array kaiser(std::int64_t count, const Array& beta, Loc loc = Loc::here());

}  // namespace apsis
