#include "apsis/array/creation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "apsis/array/special.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;

// JAX's formula, which gives `stop` exactly.
Array linspace(const Array& start, const Array& stop, std::int64_t count, const SpaceOptions& options,
               Loc loc) {
  const LocScope place(loc);
  check_count("linspace", count);
  const Array given[] = {start, stop};
  std::vector<Array> ends = promoted_inexact(given);
  const Dtype dtype = ends[0].dtype();
  const Shape shapes[] = {start.shape(), stop.shape()};
  const Shape common = common_shape("linspace", shapes);
  for (Array& end : ends) end = broadcast_to(end, common);
  const int axis = checked_new_axis("linspace", options.axis, ends[0]);
  for (Array& end : ends) end = expand_dims(end, axis);
  const std::int64_t intervals = options.endpoint ? count - 1 : count;
  if (count <= 1) return part(ends[0], axis, 0, count);
  const Shape along = with_size_at(Dims::filled(common.size() + 1, 1), axis, intervals);
  const Array fraction = reshape(iota({intervals}, 0, dtype) / Array(intervals, dtype), along);
  const Array points = ends[0] * (1 - fraction) + ends[1] * fraction;
  return options.endpoint ? concatenate({points, ends[1]}, axis) : points;
}

Array logspace(const Array& start, const Array& stop, std::int64_t count, const SpaceOptions& options,
               const Array& base, Loc loc) {
  const LocScope place(loc);
  const Array exponents = linspace(start, stop, count, options);
  return pow(base.ndim() == 0 ? astype(base, exponents.dtype()) : base, exponents);
}

Array geomspace(const Array& start, const Array& stop, std::int64_t count, const SpaceOptions& options,
                Loc loc) {
  const LocScope place(loc);
  const Array given[] = {start, stop};
  const std::vector<Array> ends = promoted_inexact(given);
  // Numbers below 0 are those above with another sign.
  const Array turn = where(ends[0] < 0 && ends[1] < 0, full_like(ends[0], -1), ones_like(ends[0]));
  const Array powers = logspace(log10(turn * ends[0]), log10(turn * ends[1]), count, options);
  return turn.ndim() == 0 ? powers * turn
                          : powers * expand_dims(turn, checked_new_axis("geomspace", options.axis, turn));
}

Array tri(std::int64_t n, std::int64_t m, int k, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return tril(ones({n, m < 0 ? n : m}, dtype), k);
}

Array diagflat(const Array& x, int k, Loc loc) {
  const LocScope place(loc);
  const Array entries = ravel(x), columns = pad(entries, {k > 0 ? k : 0}, {k < 0 ? -k : 0});
  const std::int64_t n = columns.size();
  return where(eye(n, n, k, boolean), columns, zeros_like(columns));
}

Array diagonal(const Array& x, int offset, int axis1, int axis2, Loc loc) {
  const LocScope place(loc);
  check_rank("diagonal", x.ndim() >= 2, "two axes or more", x);
  const int rows_axis = checked_axis("diagonal", axis1, x), columns_axis = checked_axis("diagonal", axis2, x);
  if (rows_axis == columns_axis)
    fail(messages::array_sizes, {"diagonal", "axis1 = " + std::to_string(axis1),
                                 "axis2 = " + std::to_string(axis2), "two axes have a diagonal"});
  Dims permutation;
  for (std::int64_t i = 0; i < x.ndim(); ++i)
    if (i != rows_axis && i != columns_axis) permutation.push_back(i);
  permutation.push_back(rows_axis);
  permutation.push_back(columns_axis);
  const Array matrices = transpose(x, permutation);
  const std::int64_t above = std::max(offset, 0), below = std::max(-offset, 0);
  const std::int64_t n =
      std::max<std::int64_t>(0, std::min(matrices.dim(-2) - below, matrices.dim(-1) - above));
  const Array i = arange(n);
  return matrices(ellipsis, i + below, i + above);
}

Array fill_diagonal(const Array& x, const Array& value, Loc loc) {
  const LocScope place(loc);
  check_rank("fill_diagonal", x.ndim() >= 2, "two axes or more", x);
  if (x.ndim() > 2) check_equal_sizes("fill_diagonal", x);
  Array on = array(true);
  for (int axis = 1; axis < x.ndim(); ++axis) on = on && iota(x.shape(), 0) == iota(x.shape(), axis);
  return where(on, astype(value, x.dtype()), x);
}

Array vander(const Array& x, std::int64_t n, bool increasing, Loc loc) {
  const LocScope place(loc);
  check_rank("vander", x.ndim() == 1, "one axis", x);
  const std::int64_t count = n < 0 ? x.size() : n;
  std::vector<Array> columns;
  for (std::int64_t i = 0; i < count; ++i) columns.push_back(i == 0 ? ones_like(x) : columns.back() * x);
  if (!increasing) std::ranges::reverse(columns);
  return columns.empty() ? zeros({x.size(), 0}, x.dtype()) : stack(columns, 1);
}

std::vector<Array> meshgrid(std::span<const Array> vectors, const MeshgridOptions& options, Loc loc) {
  const LocScope place(loc);
  Shape whole;
  for (const Array& v : vectors) {
    check_rank("meshgrid", v.ndim() <= 1, "at most one axis", v);
    whole.push_back(v.size());
  }
  const bool swapped = !options.matrix && vectors.size() >= 2;
  if (swapped) std::swap(whole[0], whole[1]);
  std::vector<Array> out;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Shape own = Dims::filled(vectors.size(), 1);
    own[swapped && i < 2 ? 1 - i : i] = vectors[i].size();
    const Array grid = reshape(vectors[i], own);
    out.push_back(options.sparse ? grid : broadcast_to(grid, whole));
  }
  return out;
}

std::vector<Array> meshgrid(std::initializer_list<Array> vectors, const MeshgridOptions& options, Loc loc) {
  return meshgrid(span_of(vectors), options, loc);
}

Array indices(const Shape& sizes, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  Shape shape = sizes;
  shape.insert(0, 0);
  if (sizes.empty()) return zeros(shape, dtype);
  std::vector<Array> each;
  for (int axis = 0; axis < sizes.rank(); ++axis) each.push_back(iota(sizes, axis, dtype));
  return stack(each);
}

namespace {

/// -1 … 1 at equal distances, exactly symmetric: where a window's points are, seen from its middle.
Array from_middle(const char* where, std::int64_t count, Dtype dtype) {
  check_count(where, count);
  check_dtype(where, is_floating(dtype), "a floating dtype", zeros({count}, dtype));
  const Array steps = astype(2 * arange(0, count), f64) - static_cast<double>(count - 1);
  return count < 2 ? steps : steps / static_cast<double>(count - 1);
}

/// Σ weights[k] cos(kπx), for x seen from the middle: there all cosines are 1.
Array cosines(const char* where, std::int64_t count, std::initializer_list<double> weights, Dtype dtype) {
  const Array x = from_middle(where, count, dtype) * std::numbers::pi;
  Array value = zeros_like(x);
  int k = 0;
  for (double weight : weights) value = value + weight * cos(x * static_cast<double>(k++));
  return astype(value, dtype);
}

}  // namespace

Array bartlett(std::int64_t count, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return astype(1 - abs(from_middle("bartlett", count, dtype)), dtype);
}

Array blackman(std::int64_t count, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return cosines("blackman", count, {0.42, 0.5, 0.08}, dtype);
}

Array hamming(std::int64_t count, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return cosines("hamming", count, {0.54, 0.46}, dtype);
}

Array hanning(std::int64_t count, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return cosines("hanning", count, {0.5, 0.5}, dtype);
}

Array kaiser(std::int64_t count, const Array& beta, Loc loc) {
  const LocScope place(loc);
  check_rank("kaiser", beta.ndim() == 0, "no axis as beta", beta);
  const Array b = inexact(beta);
  const Array width = astype(sqrt(1 - square(from_middle("kaiser", count, b.dtype()))), b.dtype());
  const Array x = b * width;
  // Scaled by their exponentials, which together are at most 1: I₀ itself overflows.
  return special::i0e(x) * exp(abs(x) - abs(b)) / special::i0e(b);
}

}  // namespace apsis
