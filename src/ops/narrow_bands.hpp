#pragma once

// Factors of banded matrices with a few diagonals, without exchanges of rows. Elimination goes from both ends
// to the middle, in two orders that do not wait for one another and share registers (twisted factors; H. A.
// van der Vorst, Large tridiagonal and block tridiagonal linear systems on vector and parallel computers,
// Parallel Computing 5, 1987). What a row needs of those before it stays there.

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/kept_scratch.hpp"
#include "ops/matrix_params.hpp"

namespace apsis::detail {

/// How many elements factors with `width` diagonals on each side take.
inline std::int64_t narrow_bands_size(std::int64_t n, std::int64_t width) {
  return (n + 4 * width + 1) * (2 * width + 1);
}

/// Factors with up to `width` diagonals on each side, in the caller's memory. Of unknowns 0 … n - 1 the first
/// ones are eliminated in ascending order, as many of the last ones in descending order, in pairs, and
/// `width` or one more in the middle at the end. Rows of the last ones are mirrored: to a row's right stands
/// what is eliminated after it.
template <class Stored, int width>
class NarrowBands {
  using T = std::remove_const_t<Stored>;
  static_assert(width >= 1 && width <= 3);

 public:
  /// n > width.
  NarrowBands(std::int64_t n, Stored* rows)
      : n_(n), pairs_((n - width) / 2), inner_(n - 2 * pairs_), rows_(rows) {}

  /// Makes the factors of a matrix as banded_solve has it. False where a solve with them leaves a residual of
  /// more than rounding in some row, by the sizes of the terms of that row, as it may without exchanges of
  /// rows.
  bool make(const BandedSolveParams& p, const T* bands) const {
    std::fill_n(rows_, narrow_bands_size(n_, width), T{});
    for (std::int64_t k = -std::min(p.lower, n_ - 1); k <= std::min(p.upper, n_ - 1); ++k) {
      const T* band = bands + (p.upper - k) * n_ + k;
      const std::int64_t end = std::min(n_, n_ - k);
      std::int64_t i = std::max<std::int64_t>(0, -k);
      for (; i < std::min(end, pairs_); ++i) pair(i)[2 * (width + k)] = band[i];
      for (; i < std::min(end, pairs_ + inner_); ++i) middle(i - pairs_)[width + k] = band[i];
      for (; i < end; ++i) pair(n_ - 1 - i)[2 * (width - k) + 1] = band[i];
    }
    Above above{};
    for (std::int64_t i = 0; i < pairs_; ++i) eliminate(pair(i), above);
    meet();
    return is_sound(p, bands);
  }

  /// x with A·x = b, or Aᵀ·x = b: read(i) is b[i], and write(i, x[i]) takes the unknowns.
  template <bool transposed, class Read, class Write>
  void solve(const Read& read, const Write& write) const {
    const KeptScratch<Unknowns> scratch(static_cast<std::size_t>(n_) * sizeof(T));
    T* x = static_cast<T*>(scratch.data());
    const std::int64_t from_end = n_ - 1;
    Window window;
    for (std::int64_t i = 0; i < pairs_; ++i)
      store(x + 2 * i, forward<transposed>(pair(i), Pair{read(i), read(from_end - i)}, window));
    std::array<T, width + 1> own;
    for (int m = 0; m < inner_; ++m) own[m] = read(pairs_ + m);
    solve_middle<transposed>(x, own);
    for (int m = 0; m < inner_; ++m) write(pairs_ + m, own[m]);
    window = {};
    for (int m = width; m-- > 0;) window.push(Pair{own[m], own[inner_ - 1 - m]});
    for (std::int64_t i = pairs_; i-- > 0;) {
      const Pair found = backward<transposed>(pair(i), load(x + 2 * i), window);
      write(i, found[0]);
      write(from_end - i, found[1]);
    }
  }

 private:
  struct Unknowns;  // what memory is for
  struct Residuals;
  static constexpr int stride = 2 * width + 1;
  /// Of the ascending order, and of the descending one.
  typedef T Pair __attribute__((vector_size(2 * sizeof(T))));
  static Pair load(const T* from) {
    Pair out;
    std::memcpy(&out, from, sizeof out);
    return out;
  }
  static void store(T* to, const Pair& own) { std::memcpy(to, &own, sizeof own); }
  /// sum - a·b, rounded once.
  static Pair less(const Pair& sum, const Pair& a, const Pair& b) {
    if constexpr (std::is_same_v<T, double>)
      return _mm_fnmadd_pd(a, b, sum);
    else
      return Pair{std::fma(-a[0], b[0], sum[0]), std::fma(-a[1], b[1], sum[1])};
  }
  /// The unknowns one, two, three rows away.
  struct Window {
    Pair one{}, two{}, three{};
    void push(const Pair& own) { three = two, two = one, one = own; }
  };

  // Two rows, entry by entry. Rows of zeros stand before the first, and behind the last what rows of the
  // middle take of them: their multipliers.
  Stored* pair(std::int64_t i) const { return rows_ + (width + i) * 2 * stride; }
  Stored* middle(std::int64_t m) const { return rows_ + ((pairs_ + 2 * width) * 2 + m) * stride; }

  /// The entries to the right of the pivots of the rows before, the nearest first.
  struct Above {
    Pair at[width][width];
  };
  /// A row ends as its multipliers of earlier unknowns, and its entries of later ones, both by the pivot,
  /// whose reciprocal stands between.
  static void eliminate(T* row, Above& above) {
    Pair own[stride];
#pragma GCC unroll 7
    for (int c = 0; c < stride; ++c) own[c] = load(row + 2 * c);
#pragma GCC unroll 3
    for (int d = width; d >= 1; --d) {
#pragma GCC unroll 3
      for (int c = 1; c <= width; ++c)
        own[width - d + c] = less(own[width - d + c], own[width - d], above.at[d - 1][c - 1]);
    }
    const Pair inverse = T{1} / own[width];
#pragma GCC unroll 7
    for (int c = 0; c < stride; ++c) {
      own[c] = c == width ? inverse : own[c] * inverse;
      store(row + 2 * c, own[c]);
    }
#pragma GCC unroll 3
    for (int c = 0; c < width; ++c) {
      for (int d = width; d-- > 1;) above.at[d][c] = above.at[d - 1][c];
      above.at[0][c] = own[width + 1 + c];
    }
  }

  /// What both orders leave of the rows in the middle, and the factors of that.
  void meet() const {
    for (int m = 0; m < inner_; ++m) {
      T* row = middle(m);
      const auto take = [&](int distance, int side) {  // of the first row after the pairs, and where it goes
        if (distance >= width) return;
        T* taken = pair(pairs_ + distance) + (side > 0);
        for (int d = width; d > distance; --d) {
          const T multiplier = taken[2 * (width - d)] = row[width + side * d];
          const T* before = taken + (width - d * stride) * 2;
          for (int c = 1; c <= width; ++c) {
            T& entry = row[width + side * (d - c)];
            entry = std::fma(-multiplier, before[2 * c], entry);
          }
        }
      };
      take(m, -1);
      take(static_cast<int>(inner_) - 1 - m, 1);
    }
    for (int p = 0; p < inner_; ++p) {
      const T inverse = inner(p, p) = 1 / inner(p, p);
      for (int q = p + 1; q < inner_; ++q) {
        const T multiplier = inner(q, p) *= inverse;
        for (int r = p + 1; r < inner_; ++r) inner(q, r) = std::fma(-multiplier, inner(p, r), inner(q, r));
      }
    }
  }
  Stored& inner(int row, int column) const { return middle(row)[width + column - row]; }

  template <bool transposed>
  static Pair forward(const T* row, Pair own, Window& before) {
    const auto factor = [&](int d) {
      return load(row + 2 * (transposed ? width + d - d * stride : width - d));
    };
    if (!transposed) own *= load(row + 2 * width);
    if constexpr (width > 2) own = less(own, factor(3), before.three);
    if constexpr (width > 1) own = less(own, factor(2), before.two);
    own = less(own, factor(1), before.one);
    before.push(own);
    return own;
  }
  template <bool transposed>
  static Pair backward(const T* row, Pair own, Window& after) {
    const auto factor = [&](int d) {
      return load(row + 2 * (transposed ? width - d + d * stride : width + d));
    };
    if constexpr (width > 2) own = less(own, factor(3), after.three);
    if constexpr (width > 1) own = less(own, factor(2), after.two);
    own = less(own, factor(1), after.one);
    after.push(own);
    return transposed ? own * load(row + 2 * width) : own;
  }

  /// The unknowns in the middle, of their right sides and of what the pairs are.
  template <bool transposed>
  void solve_middle(const T* x, std::array<T, width + 1>& own) const {
    const int count = static_cast<int>(inner_);
    for (int m = 0; m < count; ++m)
      for (int side : {0, 1}) {
        const int distance = side == 0 ? m : count - 1 - m;
        if (distance >= width) continue;
        const T* row = pair(pairs_ + distance) + side;
        for (int d = width; d > distance; --d) {
          const std::int64_t from = pairs_ + distance - d;
          if (from < 0) continue;
          const T factor = row[2 * (transposed ? width + d - d * stride : width - d)];
          own[m] = std::fma(-factor, x[2 * from + side], own[m]);
        }
      }
    if constexpr (transposed) {
      for (int p = 0; p < count; ++p) {
        own[p] *= inner(p, p);
        for (int r = p + 1; r < count; ++r) own[r] = std::fma(-inner(p, r), own[p], own[r]);
      }
      for (int p = count; p-- > 0;)
        for (int q = p + 1; q < count; ++q) own[p] = std::fma(-inner(q, p), own[q], own[p]);
    } else {
      for (int p = 0; p < count; ++p)
        for (int q = p + 1; q < count; ++q) own[q] = std::fma(-inner(q, p), own[p], own[q]);
      for (int p = count; p-- > 0;) {
        for (int r = p + 1; r < count; ++r) own[p] = std::fma(-inner(p, r), own[r], own[p]);
        own[p] *= inner(p, p);
      }
    }
  }

  /// Calls visit(i) for numbers from `begin` to `end`, by eights, which become vectors.
  static void each_of(std::int64_t begin, std::int64_t end, const auto& visit) {
    for (; begin + 8 <= end; begin += 8)
#pragma GCC ivdep
      for (std::int64_t i = 0; i < 8; ++i) visit(begin + i);
    for (; begin < end; ++begin) visit(begin);
  }

  /// The row's sizes are the right side.
  bool is_sound(const BandedSolveParams& p, const T* bands) const {
    const KeptScratch<Residuals> scratch(static_cast<std::size_t>(3 * n_) * sizeof(T));
    T *sizes = static_cast<T*>(scratch.data()), *residuals = sizes + n_, *x = residuals + n_;
    std::fill_n(sizes, n_, T{});
    const auto by_diagonals = [&](const auto& visit) {
      for (std::int64_t k = -std::min(p.lower, n_ - 1); k <= std::min(p.upper, n_ - 1); ++k) {
        const T *band = bands + (p.upper - k) * n_ + k, *factors = x + k;
        each_of(std::max<std::int64_t>(0, -k), std::min(n_, n_ - k),
                [&](std::int64_t i) { visit(i, band[i], factors[i]); });
      }
    };
    by_diagonals([sizes](std::int64_t i, T entry, T) { sizes[i] += std::abs(entry); });
    solve<false>([sizes](std::int64_t i) { return sizes[i]; }, [x](std::int64_t i, T own) { x[i] = own; });
    std::copy_n(sizes, n_, residuals);
    by_diagonals([sizes, residuals](std::int64_t i, T entry, T factor) {
      const T term = entry * factor;
      residuals[i] -= term;
      sizes[i] += std::abs(term);
    });
    // A thousand roundings.
    const T allowed = 1024 * std::numeric_limits<T>::epsilon();
    bool sound = true;
    for (std::int64_t i = 0; i < n_; ++i) sound &= std::abs(residuals[i]) <= allowed * sizes[i];
    return sound;
  }

  std::int64_t n_, pairs_, inner_;
  Stored* rows_;
};

}  // namespace apsis::detail
