#include "ops/arguments.hpp"

#include "core/sizes.hpp"
#include "ops/lax.hpp"
#include "ops/messages.hpp"
#include "ops/table.hpp"

namespace apsis::detail {

int checked_axis(const char* where, std::int64_t axis, const Shape& shape, Loc loc) {
  const std::int64_t rank = shape.rank(), at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) fail_axis(where, axis, shape, loc);
  return static_cast<int>(at);
}

Dims checked_axes(const char* where, const Dims& axes, const Shape& shape, Loc loc) {
  Dims out;
  for (std::int64_t axis : axes) {
    int at = checked_axis(where, axis, shape, loc);
    if (out.contains(at)) fail(messages::repeated_axis, {where, std::to_string(at)}, loc);
    out.push_back(at);
  }
  return out;
}

std::vector<Array> promoted(std::span<const Array> arrays) {
  WeakDtype common{arrays[0].dtype(), arrays[0].weak()};
  for (const Array& a : arrays.subspan(1)) common = promote(common, {a.dtype(), a.weak()});
  std::vector<Array> out;
  for (const Array& a : arrays)
    out.push_back(a.dtype() == common.dtype && a.weak() == common.weak
                      ? a
                      : lax::convert(a, common.dtype, common.weak));
  return out;
}

Shape broadcast_shapes(const char* where, std::span<const Shape> shapes, Loc loc) {
  Shape out;
  for (const Shape& shape : shapes) {
    Shape longer = shape.size() > out.size() ? shape : out;
    const Shape& shorter = shape.size() > out.size() ? out : shape;
    std::size_t shift = longer.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      std::int64_t &a = longer[shift + i], b = shorter[i];
      if (a != b && a != 1 && b != 1)
        fail(messages::shapes_do_not_broadcast, {where, to_string(out), to_string(shape)}, loc);
      if (a == 1) a = b;
    }
    out = longer;
  }
  return out;
}

Array broadcast_last(const Array& x, const Shape& shape) {
  Dims axes = Dims::counting(x.shape().size());
  for (std::int64_t& axis : axes) axis += static_cast<std::int64_t>(shape.size() - x.shape().size());
  return lax::broadcast_in_dim(x, shape, axes);
}

Array index_values(const char* where, const Array& indices, std::int64_t size, Loc loc) {
  if (!is_integer(indices.dtype())) fail(messages::index_dtype, {where, to_string(indices.aval())}, loc);
  if (indices.dtype() == Dtype::U64) {
    // Half of them are no i64; all those are past the end.
    const Array most = lax::full(indices.shape(), Dtype::U64, 0x1p62);
    return lax::convert(bind1(minimum_op, {}, {indices, most}), Dtype::I64);
  }
  Array wide = indices.dtype() == Dtype::I64 && !indices.weak() ? indices : lax::convert(indices, Dtype::I64);
  if (is_unsigned_integer(indices.dtype())) return wide;
  Array zero = lax::full(wide.shape(), Dtype::I64, 0),
        from_end = lax::full(wide.shape(), Dtype::I64, static_cast<double>(size));
  return lax::select(lax::lt(wide, zero), lax::add(wide, from_end), wide);
}

}  // namespace apsis::detail
