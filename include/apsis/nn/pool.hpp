#pragma once

// One entry for each window of one sample [channels, spatial…], over any number of spatial axes.

#include "apsis/array/window.hpp"

namespace apsis::nn {

/// Means over windows; what is padded counts, as 0.
struct AvgPool {
  PerAxis kernel_size = 1, stride = 1;  ///< one number for all spatial axes, or one for each
  Padding padding = 0;
  bool use_ceil = false;  ///< a last window that is not full counts, too
  /// x: [channels, spatial…] → [channels, spatial…]. Throws if the padding is wider than the window.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};
/// The greatest entries of windows; NaN wins.
struct MaxPool {
  PerAxis kernel_size = 1, stride = 1;  ///< one number for all spatial axes, or one for each
  Padding padding = 0;
  bool use_ceil = false;  ///< a last window that is not full counts, too
  /// x: [channels, spatial…] → [channels, spatial…]. Throws if the padding is wider than the window.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

/// Means over as many windows as the result has entries; the first are one entry longer where the sizes do
/// not divide.
struct AdaptiveAvgPool {
  PerAxis target_shape = 1;  ///< one number for all spatial axes, or one for each
  /// x: [channels, spatial…] → [channels, target…]. Throws if an axis has fewer entries than are wanted.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};
/// The greatest entries of such windows.
struct AdaptiveMaxPool {
  PerAxis target_shape = 1;  ///< one number for all spatial axes, or one for each
  /// x: [channels, spatial…] → [channels, target…]. Throws if an axis has fewer entries than are wanted.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

}  // namespace apsis::nn
