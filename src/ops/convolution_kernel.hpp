#pragma once

// Convolutions of arrays in memory. Sums have one order, whatever the processor and the numbers of images and
// of batches are.

#include <array>
#include <cstdint>

#include "base/processor.hpp"
#include "ops/convolution_params.hpp"

namespace apsis::detail {

/// A spatial axis of the three arrays.
struct ConvolutionAxis {
  std::int64_t input = 1, window = 1, output = 1, stride = 1, dilation = 1, low = 0;
};
struct ConvolutionSizes {
  std::int64_t batch, images, groups, channels, features;
  std::array<ConvolutionAxis, 3> axes;  // the first ones of size 1 where there are less
};

/// The array `result` from the two others, in the order of `ConvolutionArray`. T is float or double.
template <class T>
void convolve(const ConvolutionSizes& sizes, ConvolutionArray result, const T* first, const T* second, T* to,
              bool wide_registers = has_avx512());

}  // namespace apsis::detail
