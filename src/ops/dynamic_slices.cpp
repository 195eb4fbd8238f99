// The public functions on dynamic_slice and dynamic_update_slice.

#include "apsis/ops/dynamic_slice.hpp"

#include <vector>

#include "ops/arguments.hpp"
#include "ops/lax.hpp"
#include "ops/messages.hpp"

namespace apsis {
namespace lax = detail::lax;
namespace {

std::vector<Array> checked_starts(const char* where, std::span<const Array> starts, const Shape& shape,
                                  const Shape& sizes, Loc loc) {
  bool fits = starts.size() == shape.size() && sizes.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = sizes[i] >= 0 && sizes[i] <= shape[i];
  if (!fits)
    fail(messages::dynamic_slice_sizes,
         {where, to_string(sizes), std::to_string(starts.size()), to_string(shape)}, loc);
  std::vector<Array> out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (starts[i].ndim() != 0) fail(messages::not_scalar, {where, to_string(starts[i].shape())}, loc);
    out.push_back(detail::index_values(where, starts[i], shape[i], loc));
  }
  return out;
}

/// Of a slice that is whole along all axes but one.
std::vector<Array> starts_along(int axis, const Array& start, const Shape& shape) {
  std::vector<Array> starts(shape.size(), Array(0));
  starts[static_cast<std::size_t>(axis)] = start;
  return starts;
}

Array read(const char* where, const Array& x, std::span<const Array> starts, const Shape& sizes, Loc loc) {
  return lax::dynamic_slice(x, checked_starts(where, starts, x.shape(), sizes, loc), sizes);
}

Array write(const char* where, const Array& x, const Array& update, std::span<const Array> starts, Loc loc) {
  const std::vector<Array> places = checked_starts(where, starts, x.shape(), update.shape(), loc);
  if (is_floating(update.dtype()) && !is_inexact(x.dtype()))
    fail(messages::update_fractions, {to_string(update.aval()), to_string(x.aval())}, loc);
  const bool alike = update.dtype() == x.dtype() && update.weak() == x.weak();
  return lax::dynamic_update_slice(x, alike ? update : lax::convert(update, x.dtype(), x.weak()), places);
}

}  // namespace

Array dynamic_slice(const Array& x, std::span<const Array> starts, const Shape& sizes, Loc loc) {
  const LocScope place(loc);
  return read("dynamic_slice", x, starts, sizes, loc);
}
Array dynamic_slice(const Array& x, std::initializer_list<Array> starts, const Shape& sizes, Loc loc) {
  return dynamic_slice(x, std::span(starts.begin(), starts.size()), sizes, loc);
}

Array dynamic_slice_in_dim(const Array& x, const Array& start, std::int64_t size, int axis, Loc loc) {
  const LocScope place(loc);
  const int along = detail::checked_axis("dynamic_slice_in_dim", axis, x.shape(), loc);
  Shape sizes = x.shape();
  sizes[static_cast<std::size_t>(along)] = size;
  return read("dynamic_slice_in_dim", x, starts_along(along, start, x.shape()), sizes, loc);
}

Array dynamic_index_in_dim(const Array& x, const Array& index, int axis, bool keepdims, Loc loc) {
  const LocScope place(loc);
  const int along = detail::checked_axis("dynamic_index_in_dim", axis, x.shape(), loc);
  Shape sizes = x.shape();
  sizes[static_cast<std::size_t>(along)] = 1;
  const Array entry = read("dynamic_index_in_dim", x, starts_along(along, index, x.shape()), sizes, loc);
  return keepdims ? entry : lax::squeeze_axis(entry, along);
}

Array dynamic_update_slice(const Array& x, const Array& update, std::span<const Array> starts, Loc loc) {
  const LocScope place(loc);
  return write("dynamic_update_slice", x, update, starts, loc);
}
Array dynamic_update_slice(const Array& x, const Array& update, std::initializer_list<Array> starts,
                           Loc loc) {
  return dynamic_update_slice(x, update, std::span(starts.begin(), starts.size()), loc);
}

Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start, int axis,
                                  Loc loc) {
  const LocScope place(loc);
  const int along = detail::checked_axis("dynamic_update_slice_in_dim", axis, x.shape(), loc);
  return write("dynamic_update_slice_in_dim", x, update, starts_along(along, start, x.shape()), loc);
}

Array dynamic_update_index_in_dim(const Array& x, const Array& update, const Array& index, int axis,
                                  Loc loc) {
  const LocScope place(loc);
  const int along = detail::checked_axis("dynamic_update_index_in_dim", axis, x.shape(), loc);
  const Array entry = update.ndim() == x.ndim() - 1 ? lax::expand_axis(update, along) : update;
  return write("dynamic_update_index_in_dim", x, entry, starts_along(along, index, x.shape()), loc);
}

}  // namespace apsis
