#pragma once

// Factors of banded matrices, each in one array.

#include <cmath>
#include <complex>
#include <type_traits>

#include "ops/narrow_bands.hpp"

namespace apsis::detail {

/// Gaussian elimination, with exchanges of rows where the matrix has more than a few diagonals, or is in need
/// of them. `Stored` may be const.
template <class Stored>
class BandedFactors {
  using T = std::remove_const_t<Stored>;

 public:
  /// n > 0.
  BandedFactors(const BandedSolveParams& p, std::int64_t n, Stored* stored)
      : given_(p),
        n_(n),
        lower_(std::min(p.lower, n - 1)),
        upper_(std::min(p.upper, n - 1)),
        width_(lower_ + upper_ + 1),
        rows_(stored),
        multipliers_(stored + n * width_),
        pivots_(multipliers_ + n * lower_),
        kind_(stored + size(p, n) - 1) {}
  /// How many elements they take.
  static std::int64_t size(const BandedSolveParams& p, std::int64_t n) {
    const std::int64_t lower = std::min(p.lower, n - 1), upper = std::min(p.upper, n - 1);
    const std::int64_t width = std::max(lower, upper);
    const std::int64_t narrow = width >= 1 && width <= 3 ? narrow_bands_size(n, width) : 0;
    return std::max(n * (2 * lower + upper + 2), narrow) + 1;
  }

  /// Of a matrix as banded_solve has it.
  void make(const T* bands) const {
    // Narrow factors may take less than there is: all of it is defined.
    if (const std::int64_t width = std::max(lower_, upper_); width >= 1 && width <= 3)
      std::fill(rows_ + narrow_bands_size(n_, width), kind_, T{});
    const bool narrow = when_narrow([&](const auto& factors) {
                          return factors.make(given_, bands) ? narrow_kind : T{};
                        }) != T{};
    *kind_ = narrow ? narrow_kind : factorise(bands) ? exchanged : singular;
  }
  /// x with A·x = b, or Aᵀ·x = b; false of singular matrices, and where there are no factors. read(i) is
  /// b[i], and write(i, x[i]) takes the unknowns; `scratch` has n elements.
  template <bool transposed, class Read, class Write>
  bool solve(const Read& read, const Write& write, T* scratch) const {
    if (*kind_ == narrow_kind) {
      when_narrow([&](const auto& factors) {
        factors.template solve<transposed>(read, write);
        return T{};
      });
      return true;
    }
    if (*kind_ != exchanged) return false;
    for (std::int64_t i = 0; i < n_; ++i) scratch[i] = read(i);
    if constexpr (transposed)
      substitute_transposed(scratch);
    else
      substitute(scratch, std::integral_constant<std::int64_t, 1>{});
    for (std::int64_t i = 0; i < n_; ++i) write(i, scratch[i]);
    return true;
  }
  /// For right sides that are the columns of [n, columns], in place.
  bool solve(T* right, std::int64_t columns) const {
    if (*kind_ == narrow_kind) {
      when_narrow([&](const auto& factors) {
        for (T* own = right; own < right + columns; ++own)
          factors.template solve<false>([&](std::int64_t i) { return own[i * columns]; },
                                        [&](std::int64_t i, T x) { own[i * columns] = x; });
        return T{};
      });
      return true;
    }
    if (*kind_ != exchanged) return false;
    if (columns == 1)
      substitute(right, std::integral_constant<std::int64_t, 1>{});
    else
      substitute(right, columns);
    return true;
  }

 private:
  // What the last element tells of the others.
  static constexpr T narrow_kind = 1, exchanged = 2, singular = 3;

  /// What `use` gives for factors of narrow bands; of other matrices 0.
  template <class Use>
  T when_narrow(const Use& use) const {
    if constexpr (std::is_floating_point_v<T>) {
      const std::int64_t width = std::max(lower_, upper_);
      if (width == 1) return use(NarrowBands<Stored, 1>(n_, rows_));
      if (width == 2) return use(NarrowBands<Stored, 2>(n_, rows_));
      if (width == 3) return use(NarrowBands<Stored, 3>(n_, rows_));
    }
    return T{};
  }

  template <class Count>
  void substitute(T* right, Count columns) const {
    const auto subtract = [&](T factor, const T* from, T* to) {
      for (std::int64_t c = 0; c < columns; ++c) to[c] -= factor * from[c];
    };
    for (std::int64_t k = 0; k < n_; ++k) {
      T* own = right + k * columns;
      const std::int64_t pivot = pivot_of(k);
      if (pivot != k) std::swap_ranges(own, own + columns, right + pivot * columns);
      const T* factors = multipliers_ + k * lower_;
      for (std::int64_t i = 1; i <= std::min(n_ - 1 - k, lower_); ++i)
        subtract(factors[i - 1], own, own + i * columns);
    }
    for (std::int64_t k = n_; k-- > 0;) {
      const T* row = row_of(k);
      T* own = right + k * columns;
      for (std::int64_t j = 1; j <= std::min(n_ - 1 - k, lower_ + upper_); ++j)
        subtract(row[j], own + j * columns, own);
      for (std::int64_t c = 0; c < columns; ++c) own[c] /= row[0];
    }
  }
  void substitute_transposed(T* right) const {
    for (std::int64_t k = 0; k < n_; ++k) {
      const T *row = row_of(k), own = right[k] /= row[0];
      for (std::int64_t j = 1; j <= std::min(n_ - 1 - k, lower_ + upper_); ++j) right[k + j] -= row[j] * own;
    }
    for (std::int64_t k = n_; k-- > 0;) {
      const T* factors = multipliers_ + k * lower_;
      for (std::int64_t i = 1; i <= std::min(n_ - 1 - k, lower_); ++i)
        right[k] -= factors[i - 1] * right[k + i];
      std::swap(right[k], right[pivot_of(k)]);
    }
  }
  Stored* row_of(std::int64_t i) const { return rows_ + i * width_; }
  /// Which row the k-th was exchanged with: its distance is stored.
  std::int64_t pivot_of(std::int64_t k) const { return k + static_cast<std::int64_t>(std::real(pivots_[k])); }

  /// Row i begins at the first column whose entry is not 0 for sure: at column max(0, i - lower), and at the
  /// diagonal once it is eliminated. Exchanges bring up to `lower` entries more to its end. False of singular
  /// matrices.
  bool factorise(const T* bands) const {
    std::fill_n(rows_, size(given_, n_), T{});
    for (std::int64_t i = 0; i < n_; ++i) {
      const std::int64_t first = std::max<std::int64_t>(0, i - lower_);
      for (std::int64_t j = first; j <= std::min(n_ - 1, i + upper_); ++j)
        row_of(i)[j - first] = bands[(given_.upper + i - j) * n_ + j];
    }
    bool regular = true;
    for (std::int64_t k = 0; k < n_; ++k) regular &= eliminate(k);
    return regular;
  }
  /// Column k: of the rows that have an entry there, all of which begin with it, the one with the greatest
  /// goes up.
  bool eliminate(std::int64_t k) const {
    const std::int64_t last = std::min(n_ - 1, k + lower_);
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i <= last; ++i)
      if (std::abs(row_of(i)[0]) > std::abs(row_of(pivot)[0])) pivot = i;
    pivots_[k] = static_cast<T>(static_cast<double>(pivot - k));
    const std::int64_t length = std::min(lower_ + upper_ + 1, n_ - k);
    T* own = row_of(k);
    if (pivot != k) std::swap_ranges(own, own + length, row_of(pivot));
    if (own[0] == T{}) return false;
    for (std::int64_t i = k + 1; i <= last; ++i) {
      T* row = row_of(i);
      const T factor = row[0] / own[0];
      multipliers_[k * lower_ + i - k - 1] = factor;
      for (std::int64_t c = 1; c < length; ++c) row[c - 1] = row[c] - factor * own[c];
      row[length - 1] = 0;
    }
    return true;
  }

  BandedSolveParams given_;
  std::int64_t n_, lower_, upper_, width_;
  Stored *rows_, *multipliers_, *pivots_, *kind_;
};

}  // namespace apsis::detail
