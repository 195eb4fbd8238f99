#pragma once

// The code of small matrices on packets of them. Included where registers of one size are built for.

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/math/pack_model.hpp"
#include "ops/small_matrix.hpp"
#include "ops/small_matrix_kernel.hpp"

namespace apsis::detail {

/// Registers for the few matrices that would leave most of a wider one empty.
template <>
struct math::Register<16> {
  static __m128d fma(__m128d x, __m128d y, __m128d z) { return _mm_fmadd_pd(x, y, z); }
  static __m128 fma(__m128 x, __m128 y, __m128 z) { return _mm_fmadd_ps(x, y, z); }
  static __m128d sqrt(__m128d x) { return _mm_sqrt_pd(x); }
  static __m128 sqrt(__m128 x) { return _mm_sqrt_ps(x); }
};

}  // namespace apsis::detail

namespace apsis::detail::small_code {

/// Numbers of as many matrices as fill a register.
template <class T, int bytes>
struct Packs : math::PackModel<T, bytes> {
  using Model = math::PackModel<T, bytes>;
  /// `small::exchange_rows`. Numbers that are no rows below are none.
  void exchange_rows(typename Model::I pivot, int k, int rows, int from, int columns,
                     typename Model::F* x) const {
    // Without vectors' elements, which would be taken out of registers.
    T* const elements = reinterpret_cast<T*>(x);
    for (int l = 0; l < Model::lanes; ++l)
      if (const auto i = static_cast<int>(pivot[l]); i > k && i < rows)
        for (int j = from; j < columns; ++j)
          std::swap(elements[(k * columns + j) * Model::lanes + l],
                    elements[(i * columns + j) * Model::lanes + l]);
  }
};

/// Elements of two registers in turn: those of the first or the second halves.
template <int half, class V, int... i>
[[gnu::always_inline]] inline V alternating(const V& a, const V& b, std::integer_sequence<int, i...>) {
  constexpr int lanes = sizeof...(i);
  return __builtin_shufflevector(a, b, ((i + half * lanes) / 2 + i % 2 * lanes)...);
}

/// Element j of register i becomes element i of register j: as many perfect shuffles as a lane's number has
/// bits.
template <int lanes, class V>
[[gnu::always_inline]] inline void turn(V (&v)[lanes]) {
  using Sequence = std::make_integer_sequence<int, lanes>;
#pragma GCC unroll 4
  for (int step = 1; step < lanes; step *= 2) {
    V next[lanes];
#pragma GCC unroll 8
    for (int i = 0; i < lanes / 2; ++i) {
      next[2 * i] = alternating<0>(v[i], v[i + lanes / 2], Sequence());
      next[2 * i + 1] = alternating<1>(v[i], v[i + lanes / 2], Sequence());
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) v[i] = next[i];
  }
}

/// The matrices of a packet, the first `count` of which are wanted.
template <class T, int lanes>
struct Packet {
  T* of[lanes];
  int count;

  /// Matrices from `first` on; `size` elements each. Lanes without one have the last.
  Packet(T* from, std::int64_t first, std::int64_t all, std::int64_t size)
      : count(static_cast<int>(std::min<std::int64_t>(lanes, all - first))) {
    for (int l = 0; l < lanes; ++l) of[l] = from + (first + std::min(l, count - 1)) * size;
  }
  /// The same of matrices that are repeated.
  Packet(T* from, std::int64_t first, std::int64_t all, std::int64_t size, std::int64_t period)
      : count(static_cast<int>(std::min<std::int64_t>(lanes, all - first))) {
    std::int64_t at = first % period;
    for (int l = 0; l < lanes; ++l) {
      of[l] = from + at * size;
      if (l + 1 < count && ++at == period) at = 0;
    }
  }
};

/// Elements [0, size) of all matrices, one register each.
template <class T, int lanes, class V, class Size>
[[gnu::always_inline]] inline void load(const Packet<const T, lanes>& packet, Size size, V* to) {
  if (size < lanes) {
#pragma GCC unroll 16
    for (int e = 0; e < size; ++e)
#pragma GCC unroll 16
      for (int l = 0; l < lanes; ++l) to[e][l] = packet.of[l][e];
    return;
  }
  for (int e = 0; e < size; e += lanes) {
    const int first = std::min<int>(e, size - lanes);
    V v[lanes];
#pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) std::memcpy(&v[l], packet.of[l] + first, sizeof(V));
    turn<lanes>(v);
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) to[first + i] = v[i];
  }
}

template <class T, int lanes, class V, class Size>
[[gnu::always_inline]] inline void store(const Packet<T, lanes>& packet, Size size, const V* from) {
  if (size < lanes) {
    for (int l = 0; l < packet.count; ++l)
      for (int e = 0; e < size; ++e) packet.of[l][e] = static_cast<T>(from[e][l]);
    return;
  }
  for (int e = 0; e < size; e += lanes) {
    const int first = std::min<int>(e, size - lanes);
    V v[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) v[i] = from[first + i];
    turn<lanes>(v);
    if (packet.count == lanes) {
#pragma GCC unroll 16
      for (int l = 0; l < lanes; ++l) std::memcpy(packet.of[l] + first, &v[l], sizeof(V));
    } else {
      for (int l = 0; l < packet.count; ++l) std::memcpy(packet.of[l] + first, &v[l], sizeof(V));
    }
  }
}

/// Numbers of rows: of the model's width in registers, i32 in memory.
template <int lanes, class I>
void load_numbers(const Packet<const std::int32_t, lanes>& packet, int size, I* to) {
  for (int e = 0; e < size; ++e)
    for (int l = 0; l < lanes; ++l) to[e][l] = packet.of[l][e];
}
template <int lanes, class I>
void store_numbers(const Packet<std::int32_t, lanes>& packet, int size, const I* from) {
  for (int l = 0; l < packet.count; ++l)
    for (int e = 0; e < size; ++e) packet.of[l][e] = static_cast<std::int32_t>(from[e][l]);
}

template <int n>
using Fixed = std::integral_constant<int, n>;

/// Calls run(n), with n as a constant for the sides that are written out.
template <class Run>
void with_side(int n, const Run& run) {
  switch (n) {
    case 2:
      return run(Fixed<2>());
    case 3:
      return run(Fixed<3>());
    case 4:
      return run(Fixed<4>());
    case 6:
      return run(Fixed<6>());
    case 8:
      return run(Fixed<8>());
    default:
      return run(n);
  }
}
/// The same, and the number of right sides, which mostly is one.
template <class Run>
void with_sides(int n, int columns, const Run& run) {
  if (columns != 1) return run(n, columns);
  with_side(n, [&](auto side) { run(side, Fixed<1>()); });
}

/// Elements of a matrix with sides of this type.
template <class Side>
constexpr int room = Side::value* Side::value;
template <>
inline constexpr int room<int> = most_small_elements;

template <class T, int bytes>
struct Code {
  using M = Packs<T, bytes>;
  using F = typename M::F;
  using I = typename M::I;
  static constexpr int lanes = M::lanes;
  using From = Packet<const T, lanes>;
  using To = Packet<T, lanes>;

  static void lu(std::int64_t count, int rows, int columns, const T* from, T* to, std::int32_t* pivots,
                 std::int32_t* permutation) {
    const int size = rows * columns, steps = std::min(rows, columns);
    const auto run = [&](auto m, auto n) __attribute__((always_inline)) {
      for (std::int64_t first = 0; first < count; first += lanes) {
        F a[most_small_elements];
        I found[most_written_out], order[most_written_out];
        load(From(from, first, count, size), size, a);
        const small::Elimination<M> elimination{.m = {}, .a = a, .pivots = found, .permutation = order};
        elimination.run(m, n, Fixed<0>());
        store(To(to, first, count, size), size, a);
        store_numbers(Packet<std::int32_t, lanes>(pivots, first, count, steps), steps, found);
        store_numbers(Packet<std::int32_t, lanes>(permutation, first, count, rows), rows, order);
      }
    };
    if (rows != columns) return run(rows, columns);
    with_side(rows, [&](auto n) { run(n, n); });
  }

  static void cholesky(std::int64_t count, int side, const T* from, T* to) {
    with_side(side, [&](auto n) {
      const auto size = side * side;
      for (std::int64_t first = 0; first < count; first += lanes) {
        F a[room<decltype(n)>];
        load(From(from, first, count, size), size, a);
        small::cholesky(M(), n, a);
        store(To(to, first, count, size), size, a);
      }
    });
  }

  static void qr(std::int64_t count, int rows, int columns, int reflected, const T* from, T* q_to, T* r_to) {
    const int size = rows * columns, of_q = rows * reflected, of_r = reflected * columns;
    for (std::int64_t first = 0; first < count; first += lanes) {
      F a[most_small_elements], q[most_small_elements], tau[most_written_out];
      load(From(from, first, count, size), size, a);
      const small::Reflections<M> reflections{{}, rows, columns, a, tau};
      reflections.find();
      reflections.join(reflected, q);
      for (int i = 0; i < reflected; ++i)
        for (int j = 0; j < std::min(i, columns); ++j) a[i * columns + j] = F{};
      store(To(q_to, first, count, of_q), of_q, q);
      store(To(r_to, first, count, of_r), of_r, a);
    }
  }

  static void triangular_solve(const TriangularSolveParams& p, std::int64_t matrices, std::int64_t count,
                               int side, int width, const T* a_from, const T* b_from, T* to) {
    const small::Triangle triangle = small::triangle_of(p.left_side, p.lower, p.transpose_a, p.unit_diagonal);
    with_right_sides(
        side, width, matrices, count, a_from, b_from, to, [](std::int64_t) {},
        [&](auto n, auto columns, const F* a, F* x) {
          small::solve_triangle(M(), triangle, n, columns, a, x);
        });
  }

  static void lu_solve(bool transposed, std::int64_t matrices, std::int64_t count, int side, int width,
                       const T* lu, const std::int32_t* pivots, const T* b_from, T* to) {
    I rows[most_written_out];
    with_right_sides(
        side, width, matrices, count, lu, b_from, to,
        [&](std::int64_t first) {
          load_numbers(Packet<const std::int32_t, lanes>(pivots, first, count, side, matrices), side, rows);
        },
        [&](auto n, auto columns, const F* a, F* x) {
          small::solve_factored(M(), transposed, n, columns, a, rows, x);
        });
  }

  static void solve(std::int64_t count, int side, int width, const T* a_from, const T* b_from, T* to) {
    with_right_sides(
        side, width, count, count, a_from, b_from, to, [](std::int64_t) {},
        [](auto n, auto columns, F* a, F* x) { small::solve(M(), n, columns, a, x); });
  }

 private:
  /// Calls matrices(first) and run(n, columns, a, x) for the packets of equations that begin with `first`.
  template <class Matrices, class Run>
  static void with_right_sides(int side, int width, std::int64_t matrices, std::int64_t count,
                               const T* a_from, const T* b_from, T* to, const Matrices& also,
                               const Run& run) {
    with_sides(side, width, [&](auto n, auto columns) {
      const int of_a = n * n, of_b = n * columns;
      F a[room<decltype(n)>], x[most_small_elements];
      for (std::int64_t first = 0; first < count; first += lanes) {
        // One matrix for all right sides is there already.
        if (first == 0 || matrices > 1) {
          load(From(a_from, first, count, of_a, matrices), of_a, a);
          also(first);
        }
        load(From(b_from, first, count, of_b), of_b, x);
        run(n, columns, a, x);
        store(To(to, first, count, of_b), of_b, x);
      }
    });
  }
};

template <class T, int bytes>
constexpr SmallMatrixCode<T> code_of() {
  using C = Code<T, bytes>;
  return {C::lu, C::cholesky, C::qr, C::triangular_solve, C::lu_solve, C::solve};
}

}  // namespace apsis::detail::small_code
