#include "apsis/array/window.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/pad.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"
#include "array/windows.hpp"

namespace apsis {
using namespace detail::arrays;

Dims PerAxis::of(std::size_t axes, const char* where, const char* what, std::int64_t least, Loc loc) const {
  Dims out = same_ ? Dims::filled(axes, sizes_[0]) : Dims(std::span<const std::int64_t>(sizes_));
  const bool fits =
      out.size() == axes && std::ranges::all_of(out, [least](std::int64_t size) { return size >= least; });
  if (!fits)
    fail(messages::per_axis_sizes, {where, what, to_string(out), std::to_string(axes), std::to_string(least)},
         loc);
  return out;
}

Padding::Padding(const char* name, Loc loc) : kind_(Kind::Valid) {
  const std::string_view given = name;
  if (given == "SAME")
    kind_ = Kind::Same;
  else if (given == "SAME_LOWER")
    kind_ = Kind::SameLower;
  else if (given != "VALID")
    fail(messages::padding_name, {name}, loc);
}

std::pair<Dims, Dims> Padding::of(const Windows& windows, const char* where, Loc loc) const {
  const std::size_t axes = windows.sizes.size();
  Dims low = Dims::filled(axes, 0), high = low;
  switch (kind_) {
    case Kind::Valid:
      break;
    case Kind::All:
      low = high = Dims::filled(axes, low_[0]);
      break;
    case Kind::Each:
      if (low_.size() != axes)
        fail(messages::padding_axes, {where, std::to_string(low_.size()), std::to_string(axes)}, loc);
      low = Dims(std::span<const std::int64_t>(low_));
      high = Dims(std::span<const std::int64_t>(high_));
      break;
    case Kind::Same:
    case Kind::SameLower:
      for (std::size_t i = 0; i < axes; ++i) {
        const std::int64_t count = (windows.sizes[i] + windows.strides[i] - 1) / windows.strides[i];
        const std::int64_t all = std::max<std::int64_t>(
            0, (count - 1) * windows.strides[i] + windows.window[i] - windows.sizes[i]);
        low[i] = kind_ == Kind::Same ? all / 2 : all - all / 2;
        high[i] = all - low[i];
      }
  }
  return {low, high};
}

namespace detail::arrays {

std::int64_t window_count(std::int64_t size, std::int64_t window, std::int64_t stride) {
  return size < window ? 0 : (size - window) / stride + 1;
}

std::vector<Array> window_entries(const Array& x, int axis, std::int64_t window, std::int64_t stride,
                                  std::int64_t dilation, std::int64_t count) {
  std::vector<Array> entries;
  for (std::int64_t k = 0; k < window; ++k) {
    const std::int64_t start = count == 0 ? 0 : k * dilation;
    entries.push_back(part(x, axis, start, count == 0 ? start : start + (count - 1) * stride + 1, stride));
  }
  return entries;
}

std::int64_t dilated_size(const char* where, const char* option, std::int64_t entries, std::int64_t dilation,
                          Loc loc) {
  constexpr std::int64_t most = std::int64_t{1} << 48;
  if (entries == 0) return 0;
  if (entries - 1 > most / dilation)
    fail(messages::dilation, {where, option, std::to_string(dilation), std::to_string(entries)}, loc);
  return (entries - 1) * dilation + 1;
}

WindowPlan::WindowPlan(const char* where, const Shape& shape, const WindowOptions& o, Loc loc) {
  const std::size_t axes = shape.size();
  window = o.window.of(axes, where, "window", 1, loc);
  strides = o.strides.of(axes, where, "strides", 1, loc);
  dilation = o.dilation.of(axes, where, "dilation", 1, loc);
  interior = o.base_dilation.of(axes, where, "base_dilation", 1, loc);
  extent = window;
  Shape spread = shape;
  for (std::size_t i = 0; i < axes; ++i) {
    extent[i] = dilated_size(where, "dilation", window[i], dilation[i], loc);
    spread[i] = dilated_size(where, "base_dilation", shape[i], interior[i], loc);
    interior[i] -= 1;
  }
  std::tie(low, high) = o.padding.of({spread, extent, strides}, where, loc);
}

Array WindowPlan::padded(const Array& x, const Array& neutral) const {
  const Dims none = Dims::filled(low.size(), 0);
  return low == none && high == none && interior == none ? x : pad(x, low, high, interior, neutral);
}

}  // namespace detail::arrays

namespace {

template <class Combine>
Array fold_window(const char* where, const Array& x, const WindowOptions& o, const Array& neutral, Loc loc,
                  const Combine& combine) {
  const Array operands[] = {x}, neutrals[] = {neutral};
  return fold_windows(where, operands, neutrals, o, loc,
                      [&](const std::vector<Array>& a, const std::vector<Array>& b) {
                        return std::vector<Array>{combine(a[0], b[0])};
                      })[0];
}

}  // namespace

Array reduce_window_sum(const Array& x, const WindowOptions& options, Loc loc) {
  const LocScope place(loc);
  return fold_window("reduce_window_sum", x, options, Array(0, x.dtype()), loc,
                     [](const Array& a, const Array& b) { return a + b; });
}

// (A choice, and not maximum(a, b), which shares the derivative where both are equal.)
Array reduce_window_max(const Array& x, const WindowOptions& options, Loc loc) {
  const LocScope place(loc);
  return fold_window("reduce_window_max", x, options, least(x.dtype()), loc,
                     [](const Array& a, const Array& b) {
                       return where(is_floating(a.dtype()) ? a >= b || isnan(a) : a >= b, a, b);
                     });
}
Array reduce_window_min(const Array& x, const WindowOptions& options, Loc loc) {
  const LocScope place(loc);
  return fold_window("reduce_window_min", x, options, greatest(x.dtype()), loc,
                     [](const Array& a, const Array& b) {
                       return where(is_floating(a.dtype()) ? a <= b || isnan(a) : a <= b, a, b);
                     });
}

}  // namespace apsis
