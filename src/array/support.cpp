#include "array/support.hpp"

#include <algorithm>
#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"

namespace apsis::detail::arrays {

namespace {

int from_front(const char* where, std::int64_t axis, std::int64_t rank, const Array& x) {
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) fail(messages::array_axis, {where, std::to_string(axis), to_string(x.aval())});
  return static_cast<int>(at);
}

}  // namespace

int checked_axis(const char* where, std::int64_t axis, const Array& x) {
  return from_front(where, axis, x.ndim(), x);
}

int checked_new_axis(const char* where, std::int64_t axis, const Array& x) {
  return from_front(where, axis, x.ndim() + 1, x);
}

Dims checked_axes(const char* where, const Axes& axes, const Array& x) {
  if (axes.all) return Dims::counting(x.shape().size());
  Dims out;
  for (std::int64_t axis : axes.list) {
    const int at = checked_axis(where, axis, x);
    if (!out.contains(at)) out.push_back(at);
  }
  std::ranges::sort(out);
  return out;
}

void check_rank(const char* where, bool fits, const char* wanted, const Array& x) {
  if (!fits) fail(messages::array_rank, {where, wanted, to_string(x.aval())});
}
void check_dtype(const char* where, bool fits, const char* wanted, const Array& x) {
  if (!fits) fail(messages::array_dtype, {where, wanted, to_string(x.aval())});
}
void check_count(const char* where, std::int64_t count) {
  if (count < 0) fail(messages::array_count, {where, std::to_string(count)});
}
void check_equal_sizes(const char* where, const Array& x) {
  for (int axis = 1; axis < x.ndim(); ++axis)
    if (x.dim(axis) != x.dim(0))
      fail(messages::array_sizes, {where, "axis 0 of " + to_string(x.aval()), "axis " + std::to_string(axis),
                                   "their sizes must be equal"});
}

Shape common_shape(const char* where, std::span<const Shape> shapes) {
  Shape out;
  for (const Shape& shape : shapes) {
    Shape longer = shape.size() > out.size() ? shape : out;
    const Shape& shorter = shape.size() > out.size() ? out : shape;
    const std::size_t shift = longer.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      std::int64_t& size = longer[shift + i];
      if (size != shorter[i] && size != 1 && shorter[i] != 1)
        fail(messages::array_broadcast, {where, to_string(out), to_string(shape)});
      if (size == 1) size = shorter[i];
    }
    out = longer;
  }
  return out;
}

namespace {

WeakDtype common_dtype(std::span<const Array> arrays) {
  WeakDtype common{arrays[0].dtype(), arrays[0].weak()};
  for (const Array& a : arrays.subspan(1)) common = promote(common, {a.dtype(), a.weak()});
  return common;
}

std::vector<Array> converted(std::span<const Array> arrays, Dtype dtype) {
  std::vector<Array> out;
  for (const Array& a : arrays) out.push_back(a.dtype() == dtype ? a : astype(a, dtype));
  return out;
}

}  // namespace

std::vector<Array> promoted(std::span<const Array> arrays) {
  return converted(arrays, common_dtype(arrays).dtype);
}
std::vector<Array> promoted_inexact(std::span<const Array> arrays) {
  return converted(arrays, inexact(common_dtype(arrays).dtype));
}

Dtype inexact(Dtype dtype) {
  if (is_inexact(dtype)) return dtype;
  return item_size(dtype) == 8 ? f64 : f32;
}
Array inexact(const Array& x) { return is_inexact(x.dtype()) ? x : astype(x, inexact(x.dtype())); }

Array part(const Array& x, int axis, Bound start, Bound stop, std::int64_t step) {
  std::vector<Index> index(static_cast<std::size_t>(axis), Index(range()));
  index.emplace_back(range(start, stop, step));
  return IndexUpdate(x, static_cast<std::vector<Index>&&>(index)).get();
}

Array entry(const Array& x, int axis, std::int64_t index) {
  std::vector<Index> all(static_cast<std::size_t>(axis), Index(range()));
  all.emplace_back(index);
  return IndexUpdate(x, static_cast<std::vector<Index>&&>(all)).get();
}

Array numbers(std::span<const std::int64_t> values) {
  return array(values, Shape{static_cast<std::int64_t>(values.size())});
}

Array joined_last(const Array& x, const Dims& axes) {
  Dims permutation;
  Shape shape;
  std::int64_t joined = 1;
  for (std::int64_t i = 0; i < x.ndim(); ++i)
    if (!axes.contains(i)) {
      permutation.push_back(i);
      shape.push_back(x.shape()[static_cast<std::size_t>(i)]);
    }
  for (std::int64_t axis : axes) {
    permutation.push_back(axis);
    joined *= x.shape()[static_cast<std::size_t>(axis)];
  }
  shape.push_back(joined);
  return reshape(x.ndim() > 0 ? transpose(x, permutation) : x, shape);
}

Shape with_ones(Shape shape, const Dims& axes) {
  for (std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  return shape;
}

Shape with_size_at(Shape shape, int axis, std::int64_t size) {
  shape[static_cast<std::size_t>(axis)] = size;
  return shape;
}

Array greatest(Dtype dtype) {
  if (is_floating(dtype)) return Array(std::numeric_limits<double>::infinity(), dtype);
  return dtype == boolean ? Array(true) : Array(iinfo(dtype).max, dtype);
}
Array least(Dtype dtype) {
  if (is_floating(dtype)) return Array(-std::numeric_limits<double>::infinity(), dtype);
  return dtype == boolean ? Array(false) : Array(iinfo(dtype).min, dtype);
}

}  // namespace apsis::detail::arrays
