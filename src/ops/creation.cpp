#include "apsis/ops/creation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/lax.hpp"
#include "ops/messages.hpp"

namespace apsis {
namespace lax = detail::lax;
namespace {

Array filled(const char* where, const Shape& shape, const Array& value, Dtype dtype, bool weak, Loc loc) {
  const LocScope place(loc);
  if (value.ndim() != 0) fail(messages::not_scalar, {where, to_string(value.shape())}, loc);
  Array scalar = value.dtype() == dtype && value.weak() == weak ? value : lax::convert(value, dtype, weak);
  return lax::broadcast_in_dim(scalar, shape, {});
}

}  // namespace

Array zeros(const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return lax::full(shape, dtype, 0);
}

Array ones(const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return lax::full(shape, dtype, 1);
}

Array full(const Shape& shape, const Array& value, Loc loc) {
  return filled("full", shape, value, value.dtype(), false, loc);
}
Array full(const Shape& shape, const Array& value, Dtype dtype, Loc loc) {
  return filled("full", shape, value, dtype, false, loc);
}

Array zeros_like(const Array& x, Loc loc) {
  const LocScope place(loc);
  return lax::full_like(x.aval(), 0);
}
Array ones_like(const Array& x, Loc loc) {
  const LocScope place(loc);
  return lax::full_like(x.aval(), 1);
}
Array full_like(const Array& x, const Array& value, Loc loc) {
  return filled("full_like", x.shape(), value, x.dtype(), x.weak(), loc);
}

namespace detail {
namespace {
std::uint64_t bits(std::int64_t i) { return static_cast<std::uint64_t>(i); }
}  // namespace

Array arange_integers(std::int64_t start, std::int64_t stop, std::int64_t step, Loc loc) {
  const LocScope place(loc);
  if (step == 0) fail(messages::arange_step, {}, loc);
  // Distance and step need all 64 bits.
  const bool forwards = step > 0;
  const std::uint64_t distance = forwards ? bits(stop) - bits(start) : bits(start) - bits(stop);
  const std::uint64_t stride = forwards ? bits(step) : 0 - bits(step);
  const bool none = forwards ? stop <= start : stop >= start;
  const std::uint64_t count = none ? 0 : (distance - 1) / stride + 1;
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  Array numbers = lax::iota(i64, {static_cast<std::int64_t>(std::min(count, most))}, 0);
  if (step != 1) numbers = lax::mul(numbers, lax::broadcast_in_dim(array(step), numbers.shape(), {}));
  if (start != 0) numbers = lax::add(numbers, lax::broadcast_in_dim(array(start), numbers.shape(), {}));
  return numbers;
}

Array arange_reals(double start, double stop, double step, Loc loc) {
  const LocScope place(loc);
  if (step == 0) fail(messages::arange_step, {}, loc);
  double count = std::ceil((stop - start) / step);
  if (!(count < 9e15))
    fail(messages::arange_length, {std::to_string(start), std::to_string(stop), std::to_string(step)}, loc);
  Array numbers = lax::iota(f64, {std::max<std::int64_t>(static_cast<std::int64_t>(count), 0)}, 0);
  if (step != 1) numbers = lax::mul(numbers, lax::full(numbers.shape(), f64, step));
  if (start != 0) numbers = lax::add(numbers, lax::full(numbers.shape(), f64, start));
  return numbers;
}

}  // namespace detail

// JAX's formula, the last point exactly `stop`.
Array linspace(const Array& start, const Array& stop, std::int64_t count, Loc loc) {
  const LocScope place(loc);
  if (count < 0) fail(messages::negative_count, {"linspace", std::to_string(count)}, loc);
  Array ends[] = {start, stop};
  for (const Array& end : ends)
    if (end.ndim() != 0) fail(messages::not_scalar, {"linspace", to_string(end.shape())}, loc);
  auto both = detail::promoted(ends);
  Dtype dtype = is_inexact(both[0].dtype()) ? both[0].dtype() : f64;
  for (Array& end : both) end = lax::convert(end, dtype);
  if (count <= 1) return lax::broadcast_in_dim(both[0], {count}, {});
  Shape inner{count - 1};
  Array fraction =
      lax::div(lax::iota(dtype, inner, 0), lax::full(inner, dtype, static_cast<double>(count - 1)));
  Array rest = lax::sub(lax::full(inner, dtype, 1), fraction);
  Array points = lax::add(lax::mul(lax::broadcast_in_dim(both[0], inner, {}), rest),
                          lax::mul(lax::broadcast_in_dim(both[1], inner, {}), fraction));
  Array parts[] = {points, lax::expand_axis(both[1], 0)};
  return lax::concatenate(parts, 0);
}

Array iota(const Shape& shape, int axis, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  return lax::iota(dtype, shape, detail::checked_axis("iota", axis, shape, loc));
}

Array eye(std::int64_t n, std::int64_t m, int k, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  Shape shape{n, m < 0 ? n : m};
  Array rows = lax::add(lax::iota(i64, shape, 0), lax::full(shape, i64, k));
  return lax::convert(lax::eq(rows, lax::iota(i64, shape, 1)), dtype);
}

}  // namespace apsis
