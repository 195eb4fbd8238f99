#pragma once

// Convolution of arrays with the channels last, of f32 and f64, of which `conv_general_dilated`
// (apsis/array/convolution.hpp) is made; not part of apsis.hpp.

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// How windows are laid over the spatial axes, of which there are three at most: `sizes` results, the first
/// one `low` entries before the array.
struct ConvolutionSteps {
  Dims sizes, strides, dilation, low;
};

/// x [batch, n, spatial…, groups, channels] with kernel [batch, window…, channels, groups, features] →
/// [batch, n, sizes…, groups, features]: sums over the window and the channels. What is outside of x is 0.
Array convolution(const Array& x, const Array& kernel, const ConvolutionSteps& steps, Loc loc = Loc::here());

/// Its transpose: kernel with y [batch, n, spatial…, groups, features] → x [batch, n, sizes…, groups,
/// channels], the gradient by x of the product of y and their convolution with the same steps.
Array transposed_convolution(const Array& kernel, const Array& y, const ConvolutionSteps& steps,
                             Loc loc = Loc::here());

/// The greatest number of spatial axes that `convolution` takes.
constexpr std::size_t most_convolution_axes = 3;

}  // namespace apsis::detail
