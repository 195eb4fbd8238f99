#pragma once

// Convolutions over any number of spatial axes, of one sample [channels, spatial…].
//
//   nn::Conv conv = nn::make_conv2d({.in = 3, .out = 16, .kernel_size = 3, .stride = 2, .padding = "SAME"},
//   key); Array y = conv(image);                                    // f64[3,32,32] → f64[16,16,16]

#include <optional>

#include "apsis/array/window.hpp"
#include "apsis/nn/initializers.hpp"

namespace apsis::nn {

/// What the padding is made of: zeros, the array's mirror image, its outermost entries, or the array again.
enum class PaddingMode : std::uint8_t { Zeros, Reflect, Replicate, Circular };

/// A convolution: sums of a window's entries times weights (the kernel is not flipped).
struct Conv {
  Array weight;         ///< [out, in / groups, window…]
  Array bias;           ///< [out, 1, …]; empty: none
  PerAxis stride = 1;   ///< from one window to the next
  Padding padding = 0;  ///< around x
  PerAxis dilation = 1;
  std::int64_t groups = 1;  ///< each convolves its own part of the channels
  PaddingMode padding_mode = PaddingMode::Zeros;
  /// x: [in, spatial…] → [out, spatial…]. Throws for another number of channels or axes.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};
/// Options of `make_conv`, `make_conv1d`, `make_conv2d` and `make_conv3d`: numbers of channels, and for the
/// window one number for all spatial axes or one for each.
struct ConvOptions {
  std::int64_t in = 1, out = 1;
  PerAxis kernel_size = 1, stride = 1;
  Padding padding = 0;
  PerAxis dilation = 1;
  std::int64_t groups = 1;
  bool use_bias = true;
  PaddingMode padding_mode = PaddingMode::Zeros;
  /// Without, uniform in ±1/√n of n inputs of a sum.
  std::optional<Initializer> weight_init = {}, bias_init = {};
  Dtype dtype = f64;
};
/// Over `axes` spatial axes. Throws if a number is not positive, or the groups do not divide the channels.
Conv make_conv(int axes, const ConvOptions& options, const Array& key, Loc loc = Loc::here());
/// Over one axis.
Conv make_conv1d(const ConvOptions& options, const Array& key, Loc loc = Loc::here());
/// Over two axes.
Conv make_conv2d(const ConvOptions& options, const Array& key, Loc loc = Loc::here());
/// Over three axes.
Conv make_conv3d(const ConvOptions& options, const Array& key, Loc loc = Loc::here());

/// From the shape of what a Conv of these options gives to that of what it takes (Dumoulin and Visin, A guide
/// to convolution arithmetic, 2016): each entry of x is spread by the kernel, `stride` apart.
struct ConvTranspose {
  Array weight;                ///< [out, in / groups, window…]
  Array bias;                  ///< [out, 1, …]; empty: none
  PerAxis stride = 1;          ///< of the Conv
  Padding padding = 0;         ///< of the Conv
  PerAxis output_padding = 0;  ///< entries more at the end of the result, less than the stride
  PerAxis dilation = 1;
  std::int64_t groups = 1;
  PaddingMode padding_mode = PaddingMode::Zeros;  ///< or Circular
  /// x: [in, spatial…] → [out, spatial…]. Throws for another number of channels or axes.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};
/// Options of `make_conv_transpose` and its kin, as ConvOptions.
struct ConvTransposeOptions {
  std::int64_t in = 1, out = 1;
  PerAxis kernel_size = 1, stride = 1;
  Padding padding = 0;
  PerAxis output_padding = 0, dilation = 1;
  std::int64_t groups = 1;
  bool use_bias = true;
  PaddingMode padding_mode = PaddingMode::Zeros;
  std::optional<Initializer> weight_init = {}, bias_init = {};
  Dtype dtype = f64;
};
/// Over `axes` spatial axes. Throws if a number is not positive, the groups do not divide the channels, the
/// output padding is not less than the stride, or the mode is Reflect or Replicate; Circular goes with the
/// padding "SAME" or "SAME_LOWER" and no output padding.
ConvTranspose make_conv_transpose(int axes, const ConvTransposeOptions& options, const Array& key,
                                  Loc loc = Loc::here());
/// Over one axis.
ConvTranspose make_conv_transpose1d(const ConvTransposeOptions& options, const Array& key,
                                    Loc loc = Loc::here());
/// Over two axes.
ConvTranspose make_conv_transpose2d(const ConvTransposeOptions& options, const Array& key,
                                    Loc loc = Loc::here());
/// Over three axes.
ConvTranspose make_conv_transpose3d(const ConvTransposeOptions& options, const Array& key,
                                    Loc loc = Loc::here());

}  // namespace apsis::nn
