#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "ops/math/pack_model.hpp"

namespace apsis::detail {

/// A tile of a product of matrices, whose sums fit into registers. Of both operands, what one step of k needs
/// lies together.
template <class T>
struct Tile {
  const T *left, *right;
  std::int64_t steps;  // of k
  T* result;
  std::int64_t stride;  // between rows of the result
  bool adds;            // to what the result holds
};

constexpr int most_tile_rows = 14;

/// The functions for tiles of `width` columns and 1 to `height` rows.
template <class T>
struct Tiles {
  std::int64_t height, width;
  std::array<void (*)(const Tile<T>&), most_tile_rows> of_rows;
};
/// For registers of 32 bytes, and for those of 64 that only some processors have.
template <class T>
Tiles<T> avx2_tiles();
template <>
Tiles<float> avx2_tiles();
template <>
Tiles<double> avx2_tiles();
template <class T>
Tiles<T> avx512_tiles();
template <>
Tiles<float> avx512_tiles();
template <>
Tiles<double> avx512_tiles();

/// Two registers' columns.
template <class T, int register_bytes, int height, int rows>
void multiply_tile(const Tile<T>& t) {
  constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
  using Vector = typename math::PackOf<T, lanes>::type;
  const auto load = [](const T* from) {
    Vector v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  };
  Vector sums[rows][2] = {};
  const T *left = t.left, *right = t.right;
  for (std::int64_t k = 0; k < t.steps; ++k, left += height, right += 2 * lanes) {
    const Vector b[] = {load(right), load(right + lanes)};
    for (int i = 0; i < rows; ++i) {
      const Vector a = left[i] - Vector{};  // the same in all lanes
      for (int j = 0; j < 2; ++j) sums[i][j] = math::Register<register_bytes>::fma(a, b[j], sums[i][j]);
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < 2; ++j) {
      T* const result = t.result + i * t.stride + j * lanes;
      if (t.adds) sums[i][j] = load(result) + sums[i][j];
      __builtin_memcpy(result, &sums[i][j], sizeof(Vector));
    }
}

template <class T, int register_bytes, int height>
constexpr Tiles<T> tiles_of() {
  return []<std::size_t... r>(std::index_sequence<r...>) {
    return Tiles<T>{height,
                    2 * register_bytes / static_cast<int>(sizeof(T)),
                    {multiply_tile<T, register_bytes, height, static_cast<int>(r) + 1>...}};
  }
  (std::make_index_sequence<height>());
}

}  // namespace apsis::detail
