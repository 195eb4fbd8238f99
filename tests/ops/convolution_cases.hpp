#pragma once

// Convolutions for tests: windows that reach over both ends, gaps, groups, sizes on both sides of those of
// tiles.

#include <string>
#include <vector>

#include "ops/convolution_kernel.hpp"

namespace apsis::testing {

inline std::vector<detail::ConvolutionSizes> convolution_cases() {
  using Axis = detail::ConvolutionAxis;
  const Axis one{};
  const auto axis = [](std::int64_t input, std::int64_t window, std::int64_t stride, std::int64_t dilation,
                       std::int64_t low, std::int64_t high) {
    const std::int64_t room = input + low + high - ((window - 1) * dilation + 1);
    return Axis{input, window, room < 0 ? 0 : room / stride + 1, stride, dilation, low};
  };
  const Axis same = axis(7, 3, 1, 1, 1, 1), line = axis(31, 3, 1, 1, 1, 1);
  return {
      // batch, images, groups, channels, features
      {1, 2, 1, 3, 5, {one, same, axis(9, 3, 1, 1, 1, 1)}},
      {2, 1, 1, 2, 33, {one, axis(6, 2, 2, 1, 0, 1), axis(17, 5, 2, 1, 2, 3)}},
      {1, 1, 2, 9, 4, {one, axis(8, 2, 1, 3, 2, 1), axis(13, 3, 2, 2, 1, 2)}},
      {1, 2, 40, 1, 1, {one, same, line}},
      {1, 1, 16, 1, 1, {one, axis(5, 3, 2, 1, 1, 0), axis(16, 5, 3, 2, 4, 4)}},
      {1, 2, 64, 1, 1, {axis(3, 2, 1, 1, 1, 0), axis(9, 5, 1, 1, 2, 2), axis(12, 7, 1, 1, 3, 3)}},
      {1, 1, 72, 1, 1, {one, axis(3, 3, 1, 2, 2, 4), axis(300, 2, 1, 1, 1, 0)}},
      {2, 1, 5, 1, 3, {one, one, line}},
      {1, 1, 1, 2, 3, {axis(4, 2, 1, 1, 1, 0), axis(3, 3, 1, 1, 1, 1), axis(5, 2, 1, 2, 0, 1)}},
      {1, 3, 1, 7, 20, {one, axis(5, 1, 1, 1, 0, 0), axis(4, 1, 1, 1, 0, 0)}},
      {1, 1, 1, 300, 2, {one, one, axis(4, 3, 1, 1, 1, 1)}},
      {1, 1, 1, 1, 1, {one, one, axis(600, 4, 1, 1, 0, 0)}},
      {1, 1, 1, 2, 2, {one, one, axis(5, 2, 4, 1, 0, 0)}},  // entries that no window meets
      {1, 1, 1, 2, 2, {one, one, axis(3, 2, 1, 1, 4, 5)}},  // windows that meet nothing
      {1, 1, 1, 2, 2, {one, one, axis(3, 5, 1, 1, 0, 0)}},  // no window
      {1, 1, 1, 0, 2, {one, one, axis(5, 2, 1, 1, 0, 0)}},
      {1, 0, 1, 2, 2, {one, one, axis(5, 2, 1, 1, 0, 0)}},
      {0, 1, 1, 2, 2, {one, one, axis(5, 2, 1, 1, 0, 0)}},
      {1, 1, 0, 2, 2, {one, one, axis(5, 2, 1, 1, 0, 0)}},
      {1, 1, 1, 2, 0, {one, one, axis(0, 2, 1, 1, 1, 1)}},
  };
}

/// How many spatial axes there are: those in front of the first one that is no single entry do not count.
inline std::size_t spatial_axes(const detail::ConvolutionSizes& s) {
  std::size_t first = 0;
  while (first < 2 && s.axes[first].input == 1 && s.axes[first].window == 1 && s.axes[first].output == 1)
    ++first;
  return 3 - first;
}

/// The shape of one of the three arrays.
inline Shape shape_of(const detail::ConvolutionSizes& s, detail::ConvolutionArray array) {
  using enum detail::ConvolutionArray;
  Shape shape{s.batch};
  if (array != Kernel) shape.push_back(s.images);
  for (std::size_t i = 3 - spatial_axes(s); i < 3; ++i)
    shape.push_back(array == Input ? s.axes[i].input : array == Kernel ? s.axes[i].window : s.axes[i].output);
  if (array == Kernel) shape.push_back(s.channels);
  shape.push_back(s.groups);
  shape.push_back(array == Input ? s.channels : s.features);
  return shape;
}

}  // namespace apsis::testing
