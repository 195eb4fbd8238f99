// What the families share.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis::detail::arrays {

/// The axis counted from the front. Throws, naming `where`, if x has no such axis.
int checked_axis(const char* where, std::int64_t axis, const Array& x);
/// Where a new axis goes: one more than x has axes may be meant.
int checked_new_axis(const char* where, std::int64_t axis, const Array& x);
/// The named axes, or all, in ascending order.
Dims checked_axes(const char* where, const Axes& axes, const Array& x);
void check_rank(const char* where, bool fits, const char* wanted, const Array& x);
void check_dtype(const char* where, bool fits, const char* wanted, const Array& x);
void check_count(const char* where, std::int64_t count);
/// Throws unless all axes of x have one size.
void check_equal_sizes(const char* where, const Array& x);

inline std::span<const Array> span_of(std::initializer_list<Array> arrays) {
  return {arrays.begin(), arrays.size()};
}

/// What all these shapes broadcast to.
Shape common_shape(const char* where, std::span<const Shape> shapes);
/// All of one dtype, as arithmetic would have them.
std::vector<Array> promoted(std::span<const Array> arrays);
/// The same, of a floating dtype.
std::vector<Array> promoted_inexact(std::span<const Array> arrays);
/// The dtype of a division: integers become floating.
Dtype inexact(Dtype dtype);
Array inexact(const Array& x);

/// x[…, start:stop:step, …].
Array part(const Array& x, int axis, Bound start, Bound stop, std::int64_t step = 1);
/// x[…, index, …], the axis removed.
Array entry(const Array& x, int axis, std::int64_t index);
/// i64[n] of numbers that are known now.
Array numbers(std::span<const std::int64_t> values);
/// The axes `axes` of x, in this order, joined to one behind the others.
Array joined_last(const Array& x, const Dims& axes);
/// The shape with size 1 for these axes.
Shape with_ones(Shape shape, const Dims& axes);
/// The shape with another size of one axis.
Shape with_size_at(Shape shape, int axis, std::int64_t size);
/// The greatest or the least number of a dtype: infinity where there is one.
Array greatest(Dtype dtype);
Array least(Dtype dtype);

}  // namespace apsis::detail::arrays
