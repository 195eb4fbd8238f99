#pragma once

// Factorisations and solves of small matrices, written once over a model of arithmetic (`math/model.hpp`):
// the evaluator runs them on packets of matrices, an element of each in a register (`small_matrix_code.hpp`),
// compiled code writes them out for one lane or a packet of lanes. All give the same bits, whatever the
// batch. Matrices lie row by row. Exchanges of rows are selects, so that no lane branches.

#include <cstdint>
#include <limits>
#include <type_traits>

namespace apsis::detail {

/// Sides of matrices that the texts are for; above, LAPACK is faster.
inline constexpr std::int64_t most_small_side = 16;
/// What compiled code writes out has no more elements.
inline constexpr std::int64_t most_written_out = 64;
/// Elements of the largest array of a small matrix.
inline constexpr int most_small_elements = most_small_side * most_small_side;

constexpr bool is_small_matrix(std::int64_t rows, std::int64_t columns) {
  return (rows <= most_small_side && columns <= most_small_side) || rows * columns <= most_written_out;
}

namespace small {

template <class M, class V>
[[gnu::always_inline]] inline void exchange(const M& m, typename M::B condition, V& a, V& b) {
  const V old = a;
  a = m.select(condition, b, old);
  b = m.select(condition, old, b);
}

/// A model that exchanges rows of an array lane by lane, which more than `most_selected_rows` take less time
/// by.
template <class M>
concept ExchangesLanes = requires(const M m, typename M::I pivot, typename M::F* x) {
  m.exchange_rows(pivot, 0, 0, 0, 0, x);
};
inline constexpr int most_selected_rows = 8;

/// Row k of x and row `pivot`, which is not above it, exchanged from column `from` on.
template <class M, class Rows, class Columns>
[[gnu::always_inline]] inline void exchange_rows(const M& m, typename M::I pivot, int k, Rows rows, int from,
                                                 Columns columns, typename M::F* x) {
  if constexpr (ExchangesLanes<M>)
    if (rows > most_selected_rows) return m.exchange_rows(pivot, k, rows, from, columns, x);
  for (int i = k + 1; i < rows; ++i) {
    const auto here = m.eq(pivot, m.integer(i));
    for (int j = from; j < columns; ++j) exchange(m, here, x[k * columns + j], x[i * columns + j]);
  }
}

/// A = P⁻¹·L·U in place by elimination with partial pivoting: L without its diagonal below, U. A pivot is the
/// first of the largest entries, as LAPACK's. `right` columns beside A go through the same steps.
template <class M>
struct Elimination {
  using F = typename M::F;
  using I = typename M::I;
  M m;
  F* a;
  I* pivots;                 ///< row k was exchanged with row pivots[k], which is not above it; or null
  I* permutation = nullptr;  ///< row i of L·U is row permutation[i] of A
  F* right = nullptr;
  /// Whether rows of L are exchanged, too. Without, L is of no use.
  bool keeps_l = true;

  template <class Rows, class Columns, class Right>
  [[gnu::always_inline]] inline void run(Rows rows, Columns columns, Right rights) const {
    if (permutation) {
      for (int i = 0; i < rows; ++i) permutation[i] = m.integer(i);
    }
    const int steps = rows < columns ? rows : columns;
    for (int k = 0; k < steps; ++k) {
      const I pivot = largest_below(k, rows, columns);
      if (pivots) pivots[k] = pivot;
      if (permutation) {
        for (int i = k + 1; i < rows; ++i)
          exchange(m, m.eq(pivot, m.integer(i)), permutation[k], permutation[i]);
      }
      exchange_rows(m, pivot, k, rows, keeps_l ? 0 : k, columns, a);
      exchange_rows(m, pivot, k, rows, 0, rights, right);
      // Where the pivot is zero, so is all below it.
      const F zero = m.constant(0), found = a[k * columns + k];
      const F divisor = m.select(m.eq(found, zero), m.constant(1), found);
      for (int i = k + 1; i < rows; ++i) {
        const F l = a[i * columns + k] = m.div(a[i * columns + k], divisor), minus = m.neg(l);
        for (int j = k + 1; j < columns; ++j)
          a[i * columns + j] = m.fma(minus, a[k * columns + j], a[i * columns + j]);
        for (int c = 0; c < rights; ++c)
          right[i * rights + c] = m.fma(minus, right[k * rights + c], right[i * rights + c]);
      }
    }
  }

 private:
  template <class Rows, class Columns>
  [[gnu::always_inline]] inline I largest_below(int k, Rows rows, Columns columns) const {
    I at = m.integer(k);
    F most = m.abs(a[k * columns + k]);
    for (int i = k + 1; i < rows; ++i) {
      const F x = m.abs(a[i * columns + k]);
      const auto larger = m.lt(most, x);
      most = m.select(larger, x, most);
      at = m.select(larger, m.integer(i), at);
    }
    return at;
  }
};

/// The rows of x exchanged as an elimination did, or back.
template <class M, class Rows, class Columns>
[[gnu::always_inline]] inline void exchange_all(const M& m, Rows rows, Columns columns,
                                                const typename M::I* pivots, typename M::F* x, bool back) {
  for (int step = 0; step < rows; ++step) {
    const int k = back ? rows - 1 - step : step;
    exchange_rows(m, pivots[k], k, rows, 0, columns, x);
  }
}

/// Which triangle is solved with. `transposed`: entry (i, j) of it is a(j, i). `across`: X is transposed in
/// memory, too.
struct Triangle {
  bool lower, transposed, unit, across = false;
};

/// op(A)·X = B, or X·op(A) = B, which is op(A)ᵀ·Xᵀ = Bᵀ.
constexpr Triangle triangle_of(bool left_side, bool lower, bool transpose_a, bool unit_diagonal) {
  const bool transposed = transpose_a == left_side;
  return {
      .lower = lower != transposed, .transposed = transposed, .unit = unit_diagonal, .across = !left_side};
}

/// T·X = B in place of B, the n × columns matrix x.
template <class M, class Side, class Columns>
[[gnu::always_inline]] inline void solve_triangle(const M& m, Triangle t, Side n, Columns columns,
                                                  const typename M::F* a, typename M::F* x) {
  const auto entry = [&](int i, int j) { return a[t.transposed ? j * n + i : i * n + j]; };
  const auto at = [&](int i, int c) { return t.across ? c * n + i : i * columns + c; };
  for (int step = 0; step < n; ++step) {
    const int j = t.lower ? step : n - 1 - step;
    for (int c = 0; c < columns; ++c) {
      if (!t.unit) x[at(j, c)] = m.div(x[at(j, c)], entry(j, j));
      const auto minus = m.neg(x[at(j, c)]);
      for (int later = step + 1; later < n; ++later) {
        const int i = t.lower ? later : n - 1 - later;
        x[at(i, c)] = m.fma(entry(i, j), minus, x[at(i, c)]);
      }
    }
  }
}

/// A·X = B, or Aᵀ·X = B, in place of B by the factors of A.
template <class M, class Side, class Columns>
[[gnu::always_inline]] inline void solve_factored(const M& m, bool transposed, Side n, Columns columns,
                                                  const typename M::F* lu, const typename M::I* pivots,
                                                  typename M::F* x) {
  if (!transposed) {
    exchange_all(m, n, columns, pivots, x, false);
    solve_triangle(m, {.lower = true, .transposed = false, .unit = true}, n, columns, lu, x);
    solve_triangle(m, {.lower = false, .transposed = false, .unit = false}, n, columns, lu, x);
  } else {
    solve_triangle(m, {.lower = true, .transposed = true, .unit = false}, n, columns, lu, x);
    solve_triangle(m, {.lower = false, .transposed = true, .unit = true}, n, columns, lu, x);
    exchange_all(m, n, columns, pivots, x, true);
  }
}

/// A·X = B in place of B: what elimination and `solve_factored` do, the columns of B beside A.
template <class M, class Side, class Columns>
[[gnu::always_inline]] inline void solve(const M& m, Side n, Columns columns, typename M::F* a,
                                         typename M::F* x) {
  const Elimination<M> elimination{.m = m, .a = a, .pivots = nullptr, .right = x, .keeps_l = false};
  elimination.run(n, n, columns);
  solve_triangle(m, {.lower = false, .transposed = false, .unit = false}, n, columns, a, x);
}

/// The lower triangle of A = L·Lᵀ → L with zeros above; NaN where A is not positive definite.
template <class M, class Side>
[[gnu::always_inline]] inline void cholesky(const M& m, Side n, typename M::F* a) {
  if (n == 0) return;
  const auto zero = m.constant(0), nan = m.constant(std::numeric_limits<typename M::Scalar>::quiet_NaN());
  auto positive = m.lt(zero, a[0]);
  for (int k = 0; k < n; ++k) {
    positive = m.and_(positive, m.lt(zero, a[k * n + k]));
    const auto diagonal = a[k * n + k] = m.sqrt(a[k * n + k]);
    for (int i = k + 1; i < n; ++i) a[i * n + k] = m.div(a[i * n + k], diagonal);
    for (int i = k + 1; i < n; ++i) {
      const auto minus = m.neg(a[i * n + k]);
      for (int j = k + 1; j <= i; ++j) a[i * n + j] = m.fma(minus, a[j * n + k], a[i * n + j]);
    }
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i * n + j] = j > i ? zero : m.select(positive, a[i * n + j], nan);
}

/// A power of two near |x|, and its inverse, so that squares of scaled numbers neither overflow nor vanish.
template <class M>
struct Scale {
  typename M::F up, down;

  Scale(const M& m, typename M::F largest) {
    using T = typename M::Scalar;
    constexpr int digits = std::numeric_limits<T>::digits - 1,
                  bias = std::numeric_limits<T>::max_exponent - 1;
    const auto exponents = m.integer(static_cast<Integer>(Integer{2 * bias + 1} << digits)),
               both = m.integer(static_cast<Integer>(Integer{2 * bias} << digits));
    const auto low = m.constant(std::numeric_limits<T>::min()),
               high = m.constant(std::numeric_limits<T>::max() / 4);
    auto x = m.select(m.lt(largest, low), low, largest);
    x = m.select(m.lt(high, x), high, x);
    const auto exponent = m.and_(m.to_bits(x), exponents);
    up = m.from_bits(exponent);
    down = m.from_bits(m.sub(both, exponent));
  }

 private:
  using Integer = std::conditional_t<sizeof(typename M::Scalar) == 4, std::int32_t, std::int64_t>;
};

/// Householder's reflections: H = 1 - tau v vᵀ with v = (1, …) for each column of A, kept below the diagonal,
/// with the signs that LAPACK gives R.
template <class M>
struct Reflections {
  using F = typename M::F;
  M m;
  int rows, columns;
  F* a;
  F* tau;

  void find() const {
    for (int k = 0; k < (rows < columns ? rows : columns); ++k) {
      reflection(k);
      for (int j = k + 1; j < columns; ++j) reflect(k, a, columns, j);
    }
  }
  /// The first `count` columns of H₀·H₁ … in q.
  void join(int count, F* q) const {
    const F zero = m.constant(0), one = m.constant(1);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < count; ++j) q[i * count + j] = i == j ? one : zero;
    for (int k = (rows < columns ? rows : columns) - 1; k >= 0; --k)
      for (int j = k; j < count; ++j) reflect(k, q, count, j);
  }

 private:
  F& at(int i, int j) const { return a[i * columns + j]; }

  void reflection(int k) const {
    const F zero = m.constant(0), one = m.constant(1), alpha = at(k, k);
    if (k + 1 == rows) {
      tau[k] = zero;
      return;
    }
    F below = zero;
    for (int i = k + 1; i < rows; ++i) below = larger(below, m.abs(at(i, k)));
    const Scale<M> scale(m, larger(below, m.abs(alpha)));
    const F first = m.mul(alpha, scale.down);
    F sum = m.mul(first, first);
    for (int i = k + 1; i < rows; ++i) {
      at(i, k) = m.mul(at(i, k), scale.down);
      sum = m.fma(at(i, k), at(i, k), sum);
    }
    const F norm = m.sqrt(sum), beta = m.select(m.lt(first, zero), norm, m.neg(norm));
    // Where nothing is below, nothing is reflected. NaNs are not "nothing".
    const auto idle = m.eq(m.sub(sum, m.mul(first, first)), zero), nothing = m.and_(idle, m.eq(below, zero));
    tau[k] = m.select(nothing, zero, m.div(m.sub(beta, first), beta));
    const F divisor = m.select(nothing, one, m.sub(first, beta));
    for (int i = k + 1; i < rows; ++i) at(i, k) = m.div(at(i, k), divisor);
    at(k, k) = m.select(nothing, alpha, m.mul(beta, scale.up));
  }

  /// Column j of x, of which row k is the first that changes.
  void reflect(int k, F* x, int stride, int j) const {
    F sum = x[k * stride + j];
    for (int i = k + 1; i < rows; ++i) sum = m.fma(at(i, k), x[i * stride + j], sum);
    const F minus = m.neg(m.mul(tau[k], sum));
    x[k * stride + j] = m.add(x[k * stride + j], minus);
    for (int i = k + 1; i < rows; ++i) x[i * stride + j] = m.fma(at(i, k), minus, x[i * stride + j]);
  }

  F larger(F most, F x) const { return m.select(m.lt(most, x), x, most); }
};

}  // namespace small
}  // namespace apsis::detail
