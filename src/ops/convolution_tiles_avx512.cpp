// Built for processors that have AVX-512, and called on no other.

#include "ops/convolution_tiles.hpp"

namespace apsis::detail {

template <>
ConvolutionTiles<float> avx512_convolution_tiles() {
  return convolution_code::tiles_of<float, 64, most_window_rows>();
}
template <>
ConvolutionTiles<double> avx512_convolution_tiles() {
  return convolution_code::tiles_of<double, 64, most_window_rows>();
}

}  // namespace apsis::detail
