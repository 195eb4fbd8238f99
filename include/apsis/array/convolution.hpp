#pragma once

// Convolutions over any number of axes, with the semantics of JAX's lax.conv_general_dilated.

#include <string>

#include "apsis/array/window.hpp"

namespace apsis {

/// Which letters the axes have: N batch, C channels of inputs and results, O and I channels of the kernel
/// (results and inputs); other letters name spatial axes. Empty: NC…, OI…, NC….
struct ConvDimensions {
  std::string lhs = {}, rhs = {}, out = {};
};

/// Options of `conv_general_dilated`.
struct ConvGeneralDilatedOptions {
  PerAxis window_strides = 1;            ///< from one window to the next
  Padding padding = 0;                   ///< zeros around lhs, after its dilation
  PerAxis lhs_dilation = 1;              ///< d - 1 zeros between entries: transposed convolutions
  PerAxis rhs_dilation = 1;              ///< d - 1 entries between those that meet the kernel
  std::int64_t feature_group_count = 1;  ///< groups of channels, each convolved with kernels of its own
  std::int64_t batch_group_count = 1;    ///< groups of the batch likewise
  ConvDimensions dimensions = {};
};
/// The sums, over a window and all channels of a group, of lhs times the kernel rhs, for every place of the
/// window: lhs [N, C, spatial…], rhs [O, C / groups, window…] → [N, O, spatial…]. The kernel is not flipped.
/// Throws where sizes do not fit. (jax.lax.conv_general_dilated)
Array conv_general_dilated(const Array& lhs, const Array& rhs, const ConvGeneralDilatedOptions& options = {},
                           Loc loc = Loc::here());

/// What the kernels of a convolution meet, a channel each: [N, C · window, spatial…], the places of a window
/// in row-major order for each channel of lhs. `window` has the sizes of kernels. Of the dimensions' letters,
/// those of rhs say the order of the spatial axes. Throws as conv_general_dilated, and for groups.
/// (jax.lax.conv_general_dilated_patches)
Array conv_general_dilated_patches(const Array& lhs, const Dims& window,
                                   const ConvGeneralDilatedOptions& options = {}, Loc loc = Loc::here());

/// Options of `conv_transpose`.
struct TransposedConvolutionOptions {
  PerAxis strides = 1;       ///< from one entry of lhs to the next, in the result
  Padding padding = "SAME";  ///< "SAME": n · stride entries; "VALID": all; numbers: of the dilated lhs
  PerAxis rhs_dilation = 1;  ///< d - 1 entries between those that meet the kernel
  ConvDimensions dimensions = {};
  /// The kernel is that of the convolution whose derivative this is: O and I change places, and it is
  /// flipped.
  bool transpose_kernel = false;
};
/// A convolution with strides below 1: lhs with strides - 1 zeros between its entries, so padded that the
/// result has the sizes that `padding` says. (jax.lax.conv_transpose)
Array conv_transpose(const Array& lhs, const Array& rhs, const TransposedConvolutionOptions& options = {},
                     Loc loc = Loc::here());

}  // namespace apsis
