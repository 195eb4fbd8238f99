#pragma once

// Factorisations and solves of small matrices, written once over a model of arithmetic (`math/model.hpp`):
// the evaluator runs them on packets of matrices, an element of each in a register (`small_matrix_code.hpp`),
// compiled code writes them out for one lane or a packet of lanes. All give the same bits, whatever the
// batch. Matrices lie row by row. Exchanges of rows are selects, so that no lane branches.

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "ops/complex_model.hpp"

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

/// An index or a size that is known when code is compiled; others are of type int.
template <int n>
using Fixed = std::integral_constant<int, n>;
template <class Index>
inline constexpr bool is_fixed = false;
template <int n>
inline constexpr bool is_fixed<Fixed<n>> = true;

template <class Index>
constexpr auto after(Index i) {
  if constexpr (is_fixed<Index>)
    return Fixed<Index::value + 1>();
  else
    return i + 1;
}
template <class A, class B>
constexpr auto product(A a, B b) {
  if constexpr (is_fixed<A> && is_fixed<B>)
    return Fixed<A::value * B::value>();
  else
    return a * b;
}
template <class A, class B>
constexpr auto least(A a, B b) {
  if constexpr (is_fixed<A> && is_fixed<B>)
    return Fixed<(A::value < B::value ? A::value : B::value)>();
  else
    return a < b ? int{a} : int{b};
}
/// Calls step(i) for i from `first` below `last`, written out where both are fixed.
template <class First, class Last, class Step>
[[gnu::always_inline]] inline void each(First first, Last last, const Step& step) {
  if constexpr (is_fixed<First> && is_fixed<Last>)
    [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
      (step(Fixed<First::value + i>()), ...);
    }
  (std::make_integer_sequence<int, (Last::value > First::value ? Last::value - First::value : 0)>());
  else for (int i = first; i < last; ++i) step(i);
}

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
template <class M, class Row, class Rows, class From, class Columns>
[[gnu::always_inline]] inline void exchange_rows(const M& m, typename M::I pivot, Row k, Rows rows, From from,
                                                 Columns columns, typename M::F* x) {
  if constexpr (ExchangesLanes<M>)
    if (rows > most_selected_rows) return m.exchange_rows(pivot, k, rows, from, columns, x);
  each(
      after(k), rows, [&](auto i) __attribute__((always_inline)) {
        const auto here = m.eq(pivot, m.integer(i));
        each(
            from, columns, [&](auto j) __attribute__((always_inline)) {
              exchange(m, here, x[k * columns + j], x[i * columns + j]);
            });
      });
}

/// A = P⁻¹·L·U in place by elimination with partial pivoting: L without its diagonal below, U. A pivot is the
/// first of the largest entries, as LAPACK's. `right` columns beside A go through the same steps.
/// `keeps_l`: whether rows of L are exchanged, too. Without, L is of no use.
template <class M, bool keeps_l = true>
struct Elimination {
  using F = typename M::F;
  using I = typename M::I;
  M m;
  F* a;
  I* pivots;                 ///< row k was exchanged with row pivots[k], which is not above it; or null
  I* permutation = nullptr;  ///< row i of L·U is row permutation[i] of A
  F* right = nullptr;

  template <class Rows, class Columns, class Right>
  [[gnu::always_inline]] inline void run(Rows rows, Columns columns, Right rights) const {
    if (permutation) {
      for (int i = 0; i < rows; ++i) permutation[i] = m.integer(i);
    }
    each(
        Fixed<0>(), least(rows, columns), [&](auto k) __attribute__((always_inline)) {
          const I pivot = largest_below(k, rows, columns);
          if (pivots) pivots[k] = pivot;
          if (permutation) {
            for (int i = k + 1; i < rows; ++i)
              exchange(m, m.eq(pivot, m.integer(i)), permutation[k], permutation[i]);
          }
          if constexpr (keeps_l)
            exchange_rows(m, pivot, k, rows, Fixed<0>(), columns, a);
          else
            exchange_rows(m, pivot, k, rows, k, columns, a);
          exchange_rows(m, pivot, k, rows, Fixed<0>(), rights, right);
          // Where the pivot is zero, so is all below it.
          const F zero = m.constant(0), found = a[k * columns + k];
          const Divisor<M> divisor(m, m.select(m.eq(found, zero), m.constant(1), found));
          each(
              after(k), rows, [&](auto i) __attribute__((always_inline)) {
                const F l = a[i * columns + k] = divisor.under(m, a[i * columns + k]), minus = m.neg(l);
                each(
                    after(k), columns, [&](auto j) __attribute__((always_inline)) {
                      a[i * columns + j] = m.fma(minus, a[k * columns + j], a[i * columns + j]);
                    });
                each(
                    Fixed<0>(), rights, [&](auto c) __attribute__((always_inline)) {
                      right[i * rights + c] = m.fma(minus, right[k * rights + c], right[i * rights + c]);
                    });
              });
        });
  }

 private:
  template <class Row, class Rows, class Columns>
  [[gnu::always_inline]] inline I largest_below(Row k, Rows rows, Columns columns) const {
    const auto& sizes = part_model(m);
    I at = m.integer(k);
    auto most = pivot_size(m, a[k * columns + k]);
    each(
        after(k), rows, [&](auto i) __attribute__((always_inline)) {
          const auto x = pivot_size(m, a[i * columns + k]);
          const auto larger = sizes.lt(most, x);
          most = sizes.select(larger, x, most);
          at = m.select(larger, m.integer(i), at);
        });
    return at;
  }
};

/// The conjugates of `count` numbers in their place.
template <class M>
[[gnu::always_inline]] inline void conjugate(const M& m, int count, typename M::F* x) {
  for (int i = 0; i < count; ++i) x[i] = conj(m, x[i]);
}

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

/// The same with one right side, known when code is compiled.
template <bool is_lower, bool is_transposed, bool is_unit = false>
struct FixedTriangle {
  static constexpr bool lower = is_lower, transposed = is_transposed, unit = is_unit, across = false;
};

/// T·X = B in place of B, the n × columns matrix x.
template <class M, class T, class Side, class Columns>
[[gnu::always_inline]] inline void solve_triangle(const M& m, T t, Side n, Columns columns,
                                                  const typename M::F* a, typename M::F* x) {
  const auto entry = [&](int i, int j) { return a[t.transposed ? j * n + i : i * n + j]; };
  const auto at = [&](int i, int c) { return t.across ? c * n + i : i * columns + c; };
  each(
      Fixed<0>(), n, [&](auto step) __attribute__((always_inline)) {
        const int j = t.lower ? int{step} : n - 1 - step;
        if (!t.unit) {
          const Divisor<M> diagonal(m, entry(j, j));
          for (int c = 0; c < columns; ++c) x[at(j, c)] = diagonal.under(m, x[at(j, c)]);
        }
        for (int c = 0; c < columns; ++c) {
          const auto minus = m.neg(x[at(j, c)]);
          each(
              after(step), n, [&](auto later) __attribute__((always_inline)) {
                const int i = t.lower ? int{later} : n - 1 - later;
                x[at(i, c)] = m.fma(entry(i, j), minus, x[at(i, c)]);
              });
        }
      });
}

/// A·X = B, or Aᵀ·X = B, in place of B by the factors of A.
template <class M, class Side, class Columns>
[[gnu::always_inline]] inline void solve_factored(const M& m, bool transposed, Side n, Columns columns,
                                                  const typename M::F* lu, const typename M::I* pivots,
                                                  typename M::F* x) {
  if (!transposed) {
    exchange_all(m, n, columns, pivots, x, false);
    solve_triangle(m, FixedTriangle<true, false, true>(), n, columns, lu, x);
    solve_triangle(m, FixedTriangle<false, false>(), n, columns, lu, x);
  } else {
    solve_triangle(m, FixedTriangle<true, true>(), n, columns, lu, x);
    solve_triangle(m, FixedTriangle<false, true, true>(), n, columns, lu, x);
    exchange_all(m, n, columns, pivots, x, true);
  }
}

/// A·X = B in place of B: what elimination and `solve_factored` do, the columns of B beside A.
template <class M, class Side, class Columns>
[[gnu::always_inline]] inline void solve(const M& m, Side n, Columns columns, typename M::F* a,
                                         typename M::F* x) {
  const Elimination<M, false> elimination{.m = m, .a = a, .pivots = nullptr, .right = x};
  elimination.run(n, n, columns);
  solve_triangle(m, FixedTriangle<false, false>(), n, columns, a, x);
}

/// The lower triangle of A = L·Lᴴ → L with zeros above; NaN where A is not positive definite. Of the diagonal
/// the real parts are read.
template <class M, class Side>
[[gnu::always_inline]] inline void cholesky(const M& m, Side n, typename M::F* a) {
  if (n == 0) return;
  using F = typename M::F;
  const auto& real = part_model(m);
  const auto zero = real.constant(0), one = real.constant(1),
             nan = real.constant(std::numeric_limits<typename M::Scalar>::quiet_NaN());
  auto positive = real.lt(zero, real_part(m, a[0]));
  each(
      Fixed<0>(), n, [&](auto k) __attribute__((always_inline)) {
        positive = m.and_(positive, real.lt(zero, real_part(m, a[k * n + k])));
        const auto diagonal = real.sqrt(real_part(m, a[k * n + k]));
        // A square root is neither so small nor so large that its inverse is not a normal number.
        const auto inverse = real.div(one, diagonal);
        a[k * n + k] = from_real(m, diagonal);
        each(
            after(k), n, [&](auto i) __attribute__((always_inline)) {
              a[i * n + k] = times_real(m, a[i * n + k], inverse);
            });
        each(
            after(k), n, [&](auto i) __attribute__((always_inline)) {
              const auto minus = m.neg(a[i * n + k]);
              each(
                  after(k), after(i), [&](auto j) __attribute__((always_inline)) {
                    a[i * n + j] = m.fma(minus, conj(m, a[j * n + k]), a[i * n + j]);
                  });
            });
      });
  const F nothing = from_real(m, zero), undefined = times_real(m, m.constant(1), nan);
  each(
      Fixed<0>(), n, [&](auto i) __attribute__((always_inline)) {
        each(
            Fixed<0>(), n, [&](auto j) __attribute__((always_inline)) {
              a[i * n + j] = j > i ? nothing : m.select(positive, a[i * n + j], undefined);
            });
      });
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

/// Householder's reflections: H = 1 - tau v vᴴ with v = (1, …) for each column of A, kept below the diagonal,
/// with the signs that LAPACK gives R, whose diagonal is real. R is Hᴴ … A, and Q the product of the H.
template <class M>
struct Reflections {
  using F = typename M::F;
  using Part = PartOf<M>;
  M m;
  int rows, columns;
  F* a;
  F* tau;

  void find() const {
    for (int k = 0; k < (rows < columns ? rows : columns); ++k) {
      reflection(k);
      for (int j = k + 1; j < columns; ++j) reflect(k, conj(m, tau[k]), a, columns, j);
    }
  }
  /// The first `count` columns of H₀·H₁ … in q.
  void join(int count, F* q) const {
    const F zero = m.constant(0), one = m.constant(1);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < count; ++j) q[i * count + j] = i == j ? one : zero;
    for (int k = (rows < columns ? rows : columns) - 1; k >= 0; --k)
      for (int j = k; j < count; ++j) reflect(k, tau[k], q, count, j);
  }

 private:
  F& at(int i, int j) const { return a[i * columns + j]; }

  void reflection(int k) const {
    const auto& real = part_model(m);
    const Part zero = real.constant(0);
    const F alpha = at(k, k), none = m.constant(0), one = m.constant(1);
    // A complex number is made real even if nothing is below.
    if (k + 1 == rows && !is_complex_model<M>) {
      tau[k] = none;
      return;
    }
    Part below = zero;
    for (int i = k + 1; i < rows; ++i) below = largest_part(below, at(i, k));
    if constexpr (is_complex_model<M>) below = larger(below, real.abs(alpha.im));
    const Scale<std::remove_cvref_t<decltype(real)>> scale(real,
                                                           larger(below, real.abs(real_part(m, alpha))));
    const F first = times_real(m, alpha, scale.down);
    const Part head = real_part(m, first), square = real.mul(head, head);
    Part sum = square;
    if constexpr (is_complex_model<M>) sum = real.fma(first.im, first.im, sum);
    for (int i = k + 1; i < rows; ++i) {
      at(i, k) = times_real(m, at(i, k), scale.down);
      sum = plus_square(m, at(i, k), sum);
    }
    const Part norm = real.sqrt(sum), beta = real.select(real.lt(head, zero), norm, real.neg(norm));
    // Where nothing is below, nothing is reflected. NaNs are not "nothing".
    const auto idle = real.eq(real.sub(sum, square), zero), nothing = real.and_(idle, real.eq(below, zero));
    tau[k] = m.select(nothing, none, over_real(m, minus_real(beta, first), beta));
    const Divisor<M> divisor(m, m.select(nothing, one, m.neg(minus_real(beta, first))));
    for (int i = k + 1; i < rows; ++i) at(i, k) = divisor.under(m, at(i, k));
    at(k, k) = m.select(nothing, alpha, from_real(m, real.mul(beta, scale.up)));
  }

  /// Column j of x, of which row k is the first that changes.
  void reflect(int k, const F& factor, F* x, int stride, int j) const {
    F sum = x[k * stride + j];
    for (int i = k + 1; i < rows; ++i) sum = m.fma(conj(m, at(i, k)), x[i * stride + j], sum);
    const F minus = m.neg(m.mul(factor, sum));
    x[k * stride + j] = m.add(x[k * stride + j], minus);
    for (int i = k + 1; i < rows; ++i) x[i * stride + j] = m.fma(at(i, k), minus, x[i * stride + j]);
  }

  /// beta - x.
  F minus_real(Part beta, const F& x) const {
    if constexpr (is_complex_model<M>)
      return {m.parts.sub(beta, x.re), m.parts.neg(x.im)};
    else
      return m.sub(beta, x);
  }
  Part larger(Part most, Part x) const {
    const auto& real = part_model(m);
    return real.select(real.lt(most, x), x, most);
  }
  Part largest_part(Part most, const F& x) const {
    if constexpr (is_complex_model<M>)
      return larger(larger(most, m.parts.abs(x.re)), m.parts.abs(x.im));
    else
      return larger(most, m.abs(x));
  }
};

}  // namespace small
}  // namespace apsis::detail
