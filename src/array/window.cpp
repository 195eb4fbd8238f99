#include "apsis/array/window.hpp"

#include <algorithm>
#include <string_view>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/logic.hpp"
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

}  // namespace detail::arrays

namespace {

/// Reduced along one axis after the other, the last first: what comes first of equal ones is so in row-major
/// order.
template <class Combine>
Array reduce_window(const char* where, const Array& x, const WindowOptions& o, const Array& neutral, Loc loc,
                    const Combine& combine) {
  const std::size_t axes = x.shape().size();
  const Dims window = o.window.of(axes, where, "window", 1, loc);
  const Dims strides = o.strides.of(axes, where, "strides", 1, loc);
  const Dims dilation = o.dilation.of(axes, where, "dilation", 1, loc);
  Dims extent = window;
  for (std::size_t i = 0; i < axes; ++i) extent[i] = (window[i] - 1) * dilation[i] + 1;
  auto [low, high] = o.padding.of({x.shape(), extent, strides}, where, loc);
  const Dims none = Dims::filled(axes, 0);
  Array y = low == none && high == none ? x : pad(x, low, high, neutral);
  for (std::size_t i = axes; i-- > 0;) {
    if (window[i] == 1 && strides[i] == 1) continue;
    const int axis = static_cast<int>(i);
    const std::int64_t count = window_count(y.dim(axis), extent[i], strides[i]);
    const std::vector<Array> entries = window_entries(y, axis, window[i], strides[i], dilation[i], count);
    y = entries[0];
    for (std::size_t k = 1; k < entries.size(); ++k) y = combine(y, entries[k]);
  }
  return y;
}

}  // namespace

Array reduce_window_sum(const Array& x, const WindowOptions& options, Loc loc) {
  const LocScope place(loc);
  return reduce_window("reduce_window_sum", x, options, Array(0, x.dtype()), loc,
                       [](const Array& a, const Array& b) { return a + b; });
}

// (A choice, and not maximum(a, b), which shares the derivative where both are equal.)
Array reduce_window_max(const Array& x, const WindowOptions& options, Loc loc) {
  const LocScope place(loc);
  return reduce_window("reduce_window_max", x, options, least(x.dtype()), loc,
                       [](const Array& a, const Array& b) {
                         return where(is_floating(a.dtype()) ? a >= b || isnan(a) : a >= b, a, b);
                       });
}
Array reduce_window_min(const Array& x, const WindowOptions& options, Loc loc) {
  const LocScope place(loc);
  return reduce_window("reduce_window_min", x, options, greatest(x.dtype()), loc,
                       [](const Array& a, const Array& b) {
                         return where(is_floating(a.dtype()) ? a <= b || isnan(a) : a <= b, a, b);
                       });
}

}  // namespace apsis
