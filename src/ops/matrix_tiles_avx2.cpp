#include "ops/matrix_tiles.hpp"

namespace apsis::detail {

template <>
Tiles<float> avx2_tiles() {
  return tiles_of<float, 32, 6>();
}
template <>
Tiles<double> avx2_tiles() {
  return tiles_of<double, 32, 6>();
}

}  // namespace apsis::detail
