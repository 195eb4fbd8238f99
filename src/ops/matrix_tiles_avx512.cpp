// Built for processors that have AVX-512, and called on no other.

#include "ops/matrix_tiles.hpp"

namespace apsis::detail {

template <>
Tiles<float> avx512_tiles() {
  return tiles_of<float, 64, most_tile_rows>();
}
template <>
Tiles<double> avx512_tiles() {
  return tiles_of<double, 64, most_tile_rows>();
}
template <>
Tiles<std::uint16_t> avx512_tiles() {
  return tiles_of<std::uint16_t, 64, most_tile_rows>();
}
template <>
Tiles<std::uint32_t> avx512_tiles() {
  return tiles_of<std::uint32_t, 64, most_tile_rows>();
}
template <>
Tiles<std::uint64_t> avx512_tiles() {
  return tiles_of<std::uint64_t, 64, most_tile_rows>();
}

}  // namespace apsis::detail
