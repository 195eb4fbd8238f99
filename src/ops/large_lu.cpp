// The factorisation of large matrices, half of the columns after the other, so that nearly all of it are
// products. (Toledo, Locality of reference in LU decomposition with partial pivoting, SIAM J. Matrix Anal.
// Appl. 18, 1997.)

#include "ops/large_lu.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kept_scratch.hpp"
#include "ops/tile_subtraction.hpp"

namespace apsis::detail {
namespace {

/// Columns that are eliminated one by one, by a copy of them in which each lies in one piece.
constexpr std::int64_t few_columns = 16;

struct LuScratch;

template <class T>
class Factorisation {
 public:
  Factorisation(const Tiles<T>& tiles, std::int64_t m, std::int64_t n, T* a, std::int32_t* pivots, T* scratch)
      : subtraction_(tiles, n, scratch + few_columns * m), n_(n), a_(a), pivots_(pivots), columns_(scratch) {}

  static std::int64_t scratch(const Tiles<T>& tiles, std::int64_t m, std::int64_t n) {
    return few_columns * m + TileSubtraction<T>::scratch(tiles, n);
  }

  /// Columns first … first + count of the rows from `first` on.
  void factor(std::int64_t m, std::int64_t first, std::int64_t count) const {
    if (count <= few_columns) return eliminate(m, first, count);
    const std::int64_t half = half_of(count), at = first + half, rest = count - half;
    factor(m, first, half);
    if (at >= m) {
      exchange(first, m - first, at, rest);
      return solve(first, m - first, at, rest);
    }
    exchange(first, half, at, rest);
    solve(first, half, at, rest);
    subtraction_.run(m - at, rest, half, row(at) + first, row(first) + at, false, row(at) + at);
    factor(m, at, rest);
    exchange(at, std::min(m - at, rest), first, half);
  }

 private:
  static std::int64_t half_of(std::int64_t count) {
    return std::max(few_columns, count / 2 / few_columns * few_columns);
  }
  T* row(std::int64_t i) const { return a_ + i * n_; }

  /// The exchanges of rows first … first + count, in `columns` columns from `at` on.
  void exchange(std::int64_t first, std::int64_t count, std::int64_t at, std::int64_t columns) const {
    for (std::int64_t i = first; i < first + count; ++i)
      if (pivots_[i] != i) std::swap_ranges(row(i) + at, row(i) + at + columns, row(pivots_[i]) + at);
  }

  /// By one column after the other.
  void eliminate(std::int64_t m, std::int64_t first, std::int64_t count) const {
    const std::int64_t rows = m - first;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < count; ++j) columns_[j * rows + i] = row(first + i)[first + j];
    for (std::int64_t j = 0; j < std::min(count, rows); ++j) {
      T* const column = columns_ + j * rows;
      const std::int64_t pivot = largest(column, j, rows);
      pivots_[first + j] = static_cast<std::int32_t>(first + pivot);
      for (std::int64_t k = 0; k < count && pivot != j; ++k)
        std::swap(columns_[k * rows + j], columns_[k * rows + pivot]);
      const T divisor = column[j];
      if (divisor != 0)
        for (std::int64_t i = j + 1; i < rows; ++i) column[i] /= divisor;
      for (std::int64_t k = j + 1; k < count; ++k) {
        T* const other = columns_ + k * rows;
        const T factor = -other[j];
        for (std::int64_t i = j + 1; i < rows; ++i) other[i] = std::fma(factor, column[i], other[i]);
      }
    }
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < count; ++j) row(first + i)[first + j] = columns_[j * rows + i];
  }

  /// The first of the largest entries; entries that are NaN are none.
  static std::int64_t largest(const T* column, std::int64_t first, std::int64_t rows) {
    T size = 0;
    for (std::int64_t i = first; i < rows; ++i)
      size = std::abs(column[i]) > size ? std::abs(column[i]) : size;
    for (std::int64_t i = first; i < rows; ++i)
      if (std::abs(column[i]) == size) return i;
    return first;
  }

  /// The rows first … first + count of U in `columns` columns from `at` on, by those of L.
  void solve(std::int64_t first, std::int64_t count, std::int64_t at, std::int64_t columns) const {
    if (count <= few_columns) {
      for (std::int64_t i = first + 1; i < first + count; ++i)
        for (std::int64_t k = first; k < i; ++k) {
          const T factor = -row(i)[k];
          T* const to = row(i) + at;
          const T* const from = row(k) + at;
          for (std::int64_t j = 0; j < columns; ++j) to[j] = std::fma(factor, from[j], to[j]);
        }
      return;
    }
    const std::int64_t half = half_of(count), next = first + half;
    solve(first, half, at, columns);
    subtraction_.run(count - half, columns, half, row(next) + first, row(first) + at, false, row(next) + at);
    solve(next, count - half, at, columns);
  }

  TileSubtraction<T> subtraction_;
  std::int64_t n_;
  T* a_;
  std::int32_t* pivots_;
  T* columns_;
};

}  // namespace

template <class T>
void large_lu(std::int64_t m, std::int64_t n, T* a, std::int32_t* pivots, bool wide_registers) {
  const Tiles<T> tiles = tiles_for<T>(wide_registers);
  const KeptScratch<LuScratch> scratch(static_cast<std::size_t>(Factorisation<T>::scratch(tiles, m, n)) *
                                       sizeof(T));
  Factorisation<T>(tiles, m, n, a, pivots, static_cast<T*>(scratch.data())).factor(m, 0, n);
}
template void large_lu(std::int64_t, std::int64_t, float*, std::int32_t*, bool);
template void large_lu(std::int64_t, std::int64_t, double*, std::int32_t*, bool);

}  // namespace apsis::detail
