#include "apsis/nn/pool.hpp"

#include <algorithm>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "nn/messages.hpp"
#include "nn/support.hpp"

namespace apsis::nn {
namespace {

/// How many spatial axes x has.
std::size_t spatial_axes(const char* layer, const Array& x) {
  if (x.ndim() < 2) fail(messages::pool_input, {layer, to_string(x.aval())});
  return x.shape().size() - 1;
}

/// The windows of a layer over all axes of x: one entry along the channels.
struct Windows {
  WindowOptions options;
  std::int64_t size;  ///< entries of a window
};
template <class Pool>
Windows windows_of(const char* layer, const Pool& pool, const Array& x, Loc loc) {
  const std::size_t axes = spatial_axes(layer, x);
  Dims window = pool.kernel_size.of(axes, layer, "kernel_size", 1, loc);
  Dims strides = pool.stride.of(axes, layer, "stride", 1, loc), sizes;
  for (std::size_t i = 0; i < axes; ++i) sizes.push_back(x.shape()[i + 1]);
  const auto [low, high] = pool.padding.of({sizes, window, strides}, layer, loc);
  std::vector<std::pair<std::int64_t, std::int64_t>> sides{{0, 0}};
  for (std::size_t i = 0; i < axes; ++i) {
    const bool rest = (sizes[i] + low[i] + high[i] - window[i]) % strides[i] != 0;
    sides.emplace_back(low[i], high[i] + (pool.use_ceil && rest ? strides[i] : 0));
    const std::int64_t most = std::max(sides.back().first, sides.back().second);
    if (most > window[i]) fail(messages::pool_padding, {layer, std::to_string(most), to_string(window)});
  }
  const std::int64_t size = window.product();
  window.insert(0, 1);
  strides.insert(0, 1);
  return {{.window = PerAxis(window), .strides = PerAxis(strides), .padding = Padding(sides)}, size};
}

/// Along each spatial axis, `reduce` of as many parts as are wanted.
template <class Reduce>
Array adapted(const char* layer, const PerAxis& target, Array x, Loc loc, const Reduce& reduce) {
  const std::size_t axes = spatial_axes(layer, x);
  const Dims wanted = target.of(axes, layer, "target_shape", 1, loc);
  for (std::size_t i = 0; i < axes; ++i) {
    const int axis = static_cast<int>(i) + 1;
    const std::int64_t size = x.dim(axis), count = wanted[i], each = size / count, longer = size % count;
    if (each == 0) fail(messages::pool_target, {layer, to_string(x.aval()), to_string(wanted)});
    auto part = [&](const Array& entries, std::int64_t parts, std::int64_t length) {
      Shape shape = entries.shape();
      shape[static_cast<std::size_t>(axis)] = length;
      shape.insert(static_cast<std::size_t>(axis), parts);
      return reduce(reshape(entries, shape), axis + 1);
    };
    if (longer == 0) {
      x = part(x, count, each);
      continue;
    }
    const std::vector<Array> parts = split_at(x, {longer * (each + 1)}, axis);
    x = concatenate({part(parts[0], longer, each + 1), part(parts[1], count - longer, each)}, axis);
  }
  return x;
}

}  // namespace

Array AvgPool::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  const Windows windows = windows_of("AvgPool", *this, x, loc);
  return reduce_window_sum(x, windows.options) / static_cast<double>(windows.size);
}
Array MaxPool::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  return reduce_window_max(x, windows_of("MaxPool", *this, x, loc).options);
}
Array AdaptiveAvgPool::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  return adapted("AdaptiveAvgPool", target_shape, x, loc,
                 [](const Array& parts, int axis) { return mean(parts, {.axis = axis}); });
}
Array AdaptiveMaxPool::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  return adapted("AdaptiveMaxPool", target_shape, x, loc,
                 [](const Array& parts, int axis) { return max(parts, {.axis = axis}); });
}

}  // namespace apsis::nn
