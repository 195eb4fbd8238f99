#pragma once

// c -= a·b for parts of one matrix that lies row by row: what factorisations of large matrices mostly do.

#include <algorithm>
#include <cstdint>

#include "ops/each_matrix.hpp"
#include "ops/kept_scratch.hpp"
#include "ops/matrix_panels.hpp"
#include "ops/matrix_tiles.hpp"

namespace apsis::detail {

template <class T>
class TileSubtraction {
 public:
  /// Elements of scratch memory for n columns.
  static std::int64_t scratch(const Tiles<T>& tiles, std::int64_t n) {
    return most_terms * padded(std::min(most_columns, n), tiles.width);
  }
  /// `stride`: from one row of the matrix to the next.
  TileSubtraction(const Tiles<T>& tiles, std::int64_t stride, T* scratch)
      : tiles_(tiles), stride_(stride), right_(scratch) {}

  /// c -= a·b, or a·bᵀ: m × k and k × n, or n × k. Of a `lower` result what is above the diagonal of c may be
  /// left out.
  void run(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, bool transposed, T* c,
           bool lower = false) const {
    const std::int64_t line = transposed ? stride_ : 1, step = transposed ? 1 : stride_;
    for (std::int64_t j0 = 0; j0 < n; j0 += most_columns)
      for (std::int64_t k0 = 0; k0 < k; k0 += most_terms) {
        const std::int64_t columns = std::min(most_columns, n - j0), terms = std::min(most_terms, k - k0);
        for (std::int64_t j = 0; j < columns; j += tiles_.width)
          copy_panel(b + k0 * step + (j0 + j) * line, line, step,
                     std::min<std::int64_t>(tiles_.width, columns - j), tiles_.width, terms,
                     right_ + j * terms);
        const std::int64_t top = lower ? j0 / tiles_.height * tiles_.height : 0;
        const std::int64_t blocks = (m - top + most_rows - 1) / most_rows;
        const double operations = 2. * static_cast<double>(most_rows * columns * terms);
        each_range(blocks, 1, operations, [&](std::int64_t first, std::int64_t end) {
          const KeptScratch<TileSubtraction> left(
              static_cast<std::size_t>(most_terms * padded(most_rows, tiles_.height)) * sizeof(T));
          for (std::int64_t i0 = top + first * most_rows; i0 < std::min(m, top + end * most_rows);
               i0 += most_rows)
            subtract_rows(std::min(most_rows, m - i0), columns, terms, a + i0 * stride_ + k0,
                          c + i0 * stride_ + j0, lower ? i0 - j0 : columns, static_cast<T*>(left.data()));
        });
      }
  }

 private:
  /// Terms that are subtracted at once, and rows and columns that stay in the cache with them.
  static constexpr std::int64_t most_terms = 256, most_rows = 84, most_columns = 512;

  /// Of the first row the columns up to `diagonal` are wanted, of each row one more.
  void subtract_rows(std::int64_t rows, std::int64_t columns, std::int64_t terms, const T* a, T* c,
                     std::int64_t diagonal, T* left) const {
    const std::int64_t height = tiles_.height, width = tiles_.width;
    for (std::int64_t i = 0; i < rows; i += height)
      copy_panel(a + i * stride_, stride_, std::int64_t{1}, std::min(height, rows - i), height, terms,
                 left + i * terms);
    for (std::int64_t i = 0; i < padded(rows, height) * terms; ++i) left[i] = -left[i];
    for (std::int64_t j = 0; j < columns; j += width)
      for (std::int64_t i = 0; i < rows; i += height) {
        const std::int64_t tall = std::min(height, rows - i), wide = std::min(width, columns - j);
        if (j > diagonal + i + tall - 1) continue;
        T* const result = c + i * stride_ + j;
        tiles_.multiply({left + i * terms, 1, height, right_ + j * terms, width, terms, result, stride_, true,
                         wide, nullptr},
                        tall);
      }
  }

  const Tiles<T>& tiles_;
  std::int64_t stride_;
  T* right_;  // what all rows are multiplied with
};

}  // namespace apsis::detail
