#include "ops/convolution_tiles.hpp"

namespace apsis::detail {

template <>
ConvolutionTiles<float> avx2_convolution_tiles() {
  return convolution_code::tiles_of<float, 32, 6>();
}
template <>
ConvolutionTiles<double> avx2_convolution_tiles() {
  return convolution_code::tiles_of<double, 32, 6>();
}

}  // namespace apsis::detail
