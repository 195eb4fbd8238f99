#pragma once

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis::detail {

/// Three arrays belong to a convolution; each is linear in either of the others.
enum class ConvolutionArray : std::uint8_t { Input, Kernel, Output };

/// convolution: of arrays
///   input   [batch, n, spatial…, groups, channels]
///   kernel  [batch, window…, channels, groups, features]
///   output  [batch, n, places…, groups, features]
/// the one that is called `result` from the two others in this order: the gradient by it of
///   Σ output[b, n, o, g, f] · input[b, n, o · stride + w · dilation - low, g, c] · kernel[b, w, c, g, f]
/// where input is 0 outside. So they are each other's transposes with the same parameters but for `sizes`,
/// those of the spatial axes of the result.
struct ConvolutionParams {
  ConvolutionArray result = ConvolutionArray::Output;
  Dims sizes, strides, dilation, low;
  static void each(auto& self, auto&& visit) {
    visit("result", self.result);
    visit("sizes", self.sizes);
    visit("strides", self.strides);
    visit("dilation", self.dilation);
    visit("low", self.low);
  }
};
extern const Op convolution_op;

}  // namespace apsis::detail
