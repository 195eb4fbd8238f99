#pragma once

// Where the entries of a convolution's arrays are, and how rows of them are copied. Included by the kernel's
// files alone.

#include <algorithm>

#include "ops/convolution_kernel.hpp"

namespace apsis::detail {

/// Terms of a chain, which is part of the order of sums.
constexpr std::int64_t convolution_chain_terms = 256;
/// What is read again and again stays in the second level of the cache.
constexpr std::int64_t convolution_kept_bytes = 256 << 10;

/// Where an entry of an array with three spatial axes is, `pixel` entries each.
struct PixelLayout {
  std::int64_t sizes[3], pixel;
  std::int64_t row(std::int64_t image, std::int64_t i, std::int64_t j) const {
    return ((image * sizes[0] + i) * sizes[1] + j) * sizes[2] * pixel;
  }
  std::int64_t image() const { return row(1, 0, 0); }
};

inline PixelLayout input_layout(const ConvolutionSizes& s) {
  return {{s.axes[0].input, s.axes[1].input, s.axes[2].input}, s.groups * s.channels};
}
inline PixelLayout output_layout(const ConvolutionSizes& s) {
  return {{s.axes[0].output, s.axes[1].output, s.axes[2].output}, s.groups * s.features};
}
inline std::int64_t window_entries(const ConvolutionSizes& s) {
  return s.axes[0].window * s.axes[1].window * s.axes[2].window;
}

/// Rows of the output that are done at once, if each takes so many bytes.
inline std::int64_t rows_at_once(const ConvolutionSizes& s, std::int64_t row_bytes) {
  return std::clamp<std::int64_t>(convolution_kept_bytes / std::max<std::int64_t>(row_bytes, 1), 1,
                                  std::max<std::int64_t>(s.axes[1].output, 1));
}
/// Rows of the input that so many rows of the output meet.
inline std::int64_t input_rows(const ConvolutionSizes& s, std::int64_t rows) {
  const auto& h = s.axes[1];
  return std::min((rows - 1) * h.stride + (h.window - 1) * h.dilation + 1, h.input);
}

/// `count` entries at `first` of a row of pixels, of each the channels from `channel` on: `wide` of them, and
/// zeros up to `width`. Zeros where the row is not.
template <class T>
void copy_pixels(const T* row, std::int64_t size, std::int64_t pixel, std::int64_t channel, std::int64_t wide,
                 std::int64_t width, std::int64_t first, std::int64_t count, T* to) {
  const std::int64_t begin = row ? std::clamp<std::int64_t>(-first, 0, count) : count,
                     end = row ? std::clamp(size - first, begin, count) : count;
  std::fill_n(to, begin * width, T{});
  std::fill(to + end * width, to + count * width, T{});
  if (wide == pixel && wide == width)
    std::copy_n(row + (first + begin) * pixel, (end - begin) * pixel, to + begin * width);
  else
    for (std::int64_t i = begin; i < end; ++i) {
      std::copy_n(row + (first + i) * pixel + channel, wide, to + i * width);
      std::fill_n(to + i * width + wide, width - wide, T{});
    }
}

}  // namespace apsis::detail
