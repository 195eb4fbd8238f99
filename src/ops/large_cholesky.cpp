// Cholesky's factorisation of large matrices, half of the columns after the other, so that nearly all of it
// are products.

#include "ops/large_cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kept_scratch.hpp"
#include "ops/tile_subtraction.hpp"

namespace apsis::detail {
namespace {

/// Columns that are eliminated one by one, in a copy of a few rows in which each lies in one piece.
constexpr std::int64_t few_columns = 16, few_rows = 32;

struct CholeskyScratch;

template <class T>
class CholeskyFactorisation {
 public:
  CholeskyFactorisation(const Tiles<T>& tiles, std::int64_t n, T* a, T* scratch)
      : subtraction_(tiles, n, scratch), n_(n), a_(a) {}

  /// Columns first … first + count, of the diagonal and below.
  bool factor(std::int64_t first, std::int64_t count) const {
    if (count <= few_columns) return eliminate(first, count);
    const std::int64_t half = std::max(few_columns, count / 2 / few_columns * few_columns), at = first + half;
    if (!factor(first, half)) return false;
    subtraction_.run(n_ - at, count - half, half, row(at) + first, row(at) + first, true, row(at) + at, true);
    return factor(at, count - half);
  }

 private:
  T* row(std::int64_t i) const { return a_ + i * n_; }

  bool eliminate(std::int64_t first, std::int64_t count) const {
    T top[few_columns][few_columns];
    if (!reduce<true>(first, count, first, top)) return false;
    for (std::int64_t i = first + few_rows; i < n_; i += few_rows) reduce<false>(first, count, i, top);
    return true;
  }

  /// Rows from i on. Of the first ones, on the diagonal, `top` are the entries that all are reduced by.
  template <bool first_rows>
  bool reduce(std::int64_t first, std::int64_t count, std::int64_t i0,
              T (&top)[few_columns][few_columns]) const {
    const std::int64_t rows = std::min(few_rows, n_ - i0), used = padded(rows, 8);
    T* const a = row(i0) + first;
    alignas(64) T columns[few_columns][few_rows];
    copy_panel(a, n_, std::int64_t{1}, rows, few_rows, count, &columns[0][0]);
    for (std::int64_t j = 0; j < count; ++j) {
      if constexpr (first_rows) {
        if (!(columns[j][j] > 0)) return false;
        top[j][j] = std::sqrt(columns[j][j]);
      }
      const T diagonal = top[j][j], inverse = 1 / diagonal;
      for (std::int64_t i = 0; i < used; ++i) columns[j][i] *= inverse;
      if constexpr (first_rows) columns[j][j] = diagonal;
      for (std::int64_t k = j + 1; k < count; ++k) {
        if constexpr (first_rows) top[j][k] = columns[j][k];
        const T factor = -top[j][k];
        for (std::int64_t i = 0; i < used; ++i)
          columns[k][i] = std::fma(factor, columns[j][i], columns[k][i]);
      }
    }
    constexpr int most = sizeof(T) == 4 ? 8 : 4;  // a register
    const std::int64_t blocks = count / most * most, whole = rows / most * most;
    for (std::int64_t j = 0; j < blocks; j += most)
      transpose_lines<most>(columns[j], few_rows, whole, a + j, n_);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = i < whole ? blocks : 0; j < count; ++j) a[i * n_ + j] = columns[j][i];
    return true;
  }

  TileSubtraction<T> subtraction_;
  std::int64_t n_;
  T* a_;
};

}  // namespace

template <class T>
bool large_cholesky(std::int64_t n, T* a, bool wide_registers) {
  const Tiles<T> tiles = tiles_for<T>(wide_registers);
  const KeptScratch<CholeskyScratch> scratch(static_cast<std::size_t>(TileSubtraction<T>::scratch(tiles, n)) *
                                             sizeof(T));
  return CholeskyFactorisation<T>(tiles, n, a, static_cast<T*>(scratch.data())).factor(0, n);
}
template bool large_cholesky(std::int64_t, float*, bool);
template bool large_cholesky(std::int64_t, double*, bool);

}  // namespace apsis::detail
