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
template <>
Tiles<std::uint16_t> avx2_tiles() {
  return tiles_of<std::uint16_t, 32, 6>();
}
template <>
Tiles<std::uint32_t> avx2_tiles() {
  return tiles_of<std::uint32_t, 32, 6>();
}
template <>
Tiles<std::uint64_t> avx2_tiles() {
  return tiles_of<std::uint64_t, 32, 6>();
}

}  // namespace apsis::detail
