#pragma once

// Factors of banded matrices with a few diagonals, without exchanges of rows: what one row needs of those
// before it stays in registers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/matrix_params.hpp"

namespace apsis::detail {

/// L·D·U with up to `width` diagonals on each side of D.
template <class T, int width>
class NarrowBands {
 public:
  /// Makes the factors of a matrix as banded_solve has it. False where a solve with them leaves a residual of
  /// more than rounding in some row, by the sizes of the terms of that row, as it may without exchanges of
  /// rows.
  bool make(const BandedSolveParams& p, std::int64_t n, const T* bands) {
    n_ = n;
    rows_.assign(static_cast<std::size_t>((n + width) * stride), T{});
    each_entry(p, n, bands, [&](std::int64_t i, std::int64_t k, T entry) { row_of(i)[width + k] = entry; });
    for (std::int64_t i = 0; i < n; ++i) eliminate(i);
    return is_sound(p, bands);
  }

  /// Solves for right sides that are the columns of [n, columns], in place.
  void solve(T* right, std::int64_t columns) const {
    for (std::int64_t c = 0; c < columns; ++c) solve_one(right + c, columns);
  }

 private:
  static constexpr int stride = 2 * width + 1;
  // Rows of zeros stand before the first.
  T* row_of(std::int64_t i) { return rows_.data() + (i + width) * stride; }
  const T* row_of(std::int64_t i) const { return rows_.data() + (i + width) * stride; }

  template <class Visit>
  static void each_entry(const BandedSolveParams& p, std::int64_t n, const T* bands, const Visit& visit) {
    for (std::int64_t k = -std::min(p.lower, n - 1); k <= std::min(p.upper, n - 1); ++k)
      for (std::int64_t i = std::max<std::int64_t>(0, -k); i < std::min(n, n - k); ++i)
        visit(i, k, bands[(p.upper - k) * n + i + k]);
  }

  /// A row ends as its multipliers of earlier unknowns, and its entries of later ones, both by the pivot,
  /// whose reciprocal stands between.
  void eliminate(std::int64_t i) {
    T* row = row_of(i);
    for (int d = width; d >= 1; --d) {
      const T minus = -row[width - d];
      const T* before = row_of(i - d) + width;
      for (int c = 1; c <= width; ++c) row[width - d + c] = std::fma(minus, before[c], row[width - d + c]);
    }
    const T inverse = 1 / row[width];
    for (int c = 0; c < stride; ++c) row[c] = c == width ? inverse : row[c] * inverse;
  }

  void solve_one(T* x, std::int64_t step) const {
    static_assert(width <= 3);
    T one = 0, two = 0, three = 0;  // the unknowns so many rows away
    const auto next = [&](std::int64_t i, int side, T own) {
      const T* row = row_of(i) + width;
      if constexpr (width > 2) own = std::fma(-row[side * 3], three, own);
      if constexpr (width > 1) own = std::fma(-row[side * 2], two, own);
      own = std::fma(-row[side], one, own);
      three = two, two = one, one = own;
      x[i * step] = own;
    };
    for (std::int64_t i = 0; i < n_; ++i) next(i, -1, x[i * step] * row_of(i)[width]);
    one = two = three = 0;
    for (std::int64_t i = n_; i-- > 0;) next(i, 1, x[i * step]);
  }

  /// The row's sizes are the right side.
  bool is_sound(const BandedSolveParams& p, const T* bands) {
    const auto n = static_cast<std::size_t>(n_);
    std::vector<T> sizes(n), residuals, x;
    each_entry(p, n_, bands, [&](std::int64_t i, std::int64_t, T entry) {
      sizes[static_cast<std::size_t>(i)] += std::abs(entry);
    });
    x = residuals = sizes;
    solve(x.data(), 1);
    each_entry(p, n_, bands, [&](std::int64_t i, std::int64_t k, T entry) {
      const T term = entry * x[static_cast<std::size_t>(i + k)];
      residuals[static_cast<std::size_t>(i)] -= term;
      sizes[static_cast<std::size_t>(i)] += std::abs(term);
    });
    // A thousand roundings.
    const T allowed = 1024 * std::numeric_limits<T>::epsilon();
    bool sound = true;
    for (std::size_t i = 0; i < n; ++i) sound &= std::abs(residuals[i]) <= allowed * sizes[i];
    return sound;
  }

  std::int64_t n_ = 0;
  std::vector<T> rows_;
};

}  // namespace apsis::detail
