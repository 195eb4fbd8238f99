// Windows that slide along arrays.
#pragma once

#include <span>
#include <vector>

#include "apsis/array/window.hpp"

namespace apsis::detail::arrays {

/// What so many entries with dilation - 1 gaps between them span. Throws if that is more than arrays may
/// have; `option` names the dilation.
std::int64_t dilated_size(const char* where, const char* option, std::int64_t entries, std::int64_t dilation,
                          Loc loc);
/// How many windows fit.
std::int64_t window_count(std::int64_t size, std::int64_t window, std::int64_t stride);
/// x[…, k dilation + i stride, …] for each place k of a window along an axis, i counting the windows.
std::vector<Array> window_entries(const Array& x, int axis, std::int64_t window, std::int64_t stride,
                                  std::int64_t dilation, std::int64_t count);

/// Where windows are laid over arrays of one shape. Throws where the options do not fit it.
struct WindowPlan {
  WindowPlan(const char* where, const Shape& shape, const WindowOptions& options, Loc loc);
  Dims window, strides, dilation, interior, low, high;
  Dims extent;  ///< of a window, with its gaps
  Array padded(const Array& x, const Array& neutral) const;
};

/// What is in each window, put together by `combine`, a function of two lists of arrays. Along one axis after
/// the other, the last first: so the order is row-major.
template <class Combine>
std::vector<Array> fold_windows(const char* where, std::span<const Array> xs, std::span<const Array> neutral,
                                const WindowOptions& options, Loc loc, const Combine& combine) {
  const WindowPlan plan(where, xs[0].shape(), options, loc);
  std::vector<Array> ys;
  for (std::size_t i = 0; i < xs.size(); ++i) ys.push_back(plan.padded(xs[i], neutral[i]));
  for (std::size_t k = plan.window.size(); k-- > 0;) {
    if (plan.window[k] == 1 && plan.strides[k] == 1) continue;
    const int axis = static_cast<int>(k);
    const std::int64_t count = window_count(ys[0].dim(axis), plan.extent[k], plan.strides[k]);
    std::vector<std::vector<Array>> places(static_cast<std::size_t>(plan.window[k]));
    for (const Array& y : ys) {
      const std::vector<Array> entries =
          window_entries(y, axis, plan.window[k], plan.strides[k], plan.dilation[k], count);
      for (std::size_t i = 0; i < entries.size(); ++i) places[i].push_back(entries[i]);
    }
    ys = places[0];
    for (std::size_t i = 1; i < places.size(); ++i) ys = combine(ys, places[i]);
  }
  return ys;
}

}  // namespace apsis::detail::arrays
