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

using small::Fixed;

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
  bool adjacent;  ///< in memory, and as many as there are lanes

  /// Matrices from `first` on; `size` elements each. Lanes without one have the last.
  Packet(T* from, std::int64_t first, std::int64_t all, std::int64_t size)
      : count(static_cast<int>(std::min<std::int64_t>(lanes, all - first))), adjacent(count == lanes) {
    for (int l = 0; l < lanes; ++l) of[l] = from + (first + std::min(l, count - 1)) * size;
  }
  /// The same of matrices that are repeated.
  Packet(T* from, std::int64_t first, std::int64_t all, std::int64_t size, std::int64_t period)
      : count(static_cast<int>(std::min<std::int64_t>(lanes, all - first))) {
    std::int64_t at = first % period;
    adjacent = count == lanes && at + lanes <= period;
    for (int l = 0; l < lanes; ++l) {
      of[l] = from + at * size;
      if (l + 1 < count && ++at == period) at = 0;
    }
  }
};

/// Elements [0, size) of `lanes` short arrays one after the other, one register each, and back. Of each
/// register as many shuffles as there are others.
template <int step, int size, int lanes, class T, class V, int... lane>
[[gnu::always_inline]] inline void load_short(const T* from, V* to, std::integer_sequence<int, lane...>) {
  V v[size];
  std::memcpy(v, from, sizeof(v));
  small::each(
      Fixed<0>(), Fixed<size>(), [&](auto e) __attribute__((always_inline)) {
        V x = v[0];
        small::each(
            Fixed<1>(), Fixed<size>(), [&](auto k) __attribute__((always_inline)) {
              // Of lane l, element l · size + e of all is due.
              x = __builtin_shufflevector(
                  x, v[k],
                  (k > 1 && (lane * size + e) / lanes < k ? lane
                   : (lane * size + e) / lanes <= k       ? lane * size + e - (k - 1) * lanes
                                                          : lane)...);
            });
        to[e * step] = x;
      });
}
template <int step, int size, int lanes, class T, class V, int... lane>
[[gnu::always_inline]] inline void store_short(T* to, const V* from, std::integer_sequence<int, lane...>) {
  V v[size];
  small::each(
      Fixed<0>(), Fixed<size>(), [&](auto k) __attribute__((always_inline)) {
        V x = from[0];
        small::each(
            Fixed<1>(), Fixed<size>(), [&](auto e) __attribute__((always_inline)) {
              // Lane l is element k · lanes + l of all.
              x = __builtin_shufflevector(x, from[e * step],
                                          ((k * lanes + lane) % size == e ? lanes + (k * lanes + lane) / size
                                           : e == 1                       ? (k * lanes + lane) / size
                                                                          : lane)...);
            });
        v[k] = x;
      });
  std::memcpy(to, v, sizeof(v));
}

/// Whether as many elements, known when code is compiled, are less than a register's, in registers of which
/// any shuffle of two is one instruction.
template <class Size, class V, int lanes>
constexpr bool is_short() {
  if constexpr (small::is_fixed<Size> && sizeof(V) == 64)
    return Size::value > 1 && Size::value < lanes;
  else
    return false;
}

/// Elements [0, size) of all matrices, one register each, `step` registers apart.
template <int step, class T, int lanes, class V, class Size>
[[gnu::always_inline]] inline void load(const Packet<const T, lanes>& packet, Size size, V* to) {
  if constexpr (is_short<Size, V, lanes>())
    if (packet.adjacent)
      return load_short<step, Size::value, lanes>(packet.of[0], to, std::make_integer_sequence<int, lanes>());
  const auto one_by_one = [&](int e) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) to[e * step][l] = packet.of[l][e];
  };
  if (size < lanes) return small::each(Fixed<0>(), size, one_by_one);
  for (int e = 0; e < size; e += lanes) {
    if (size - e == 1) return one_by_one(e);
    const int first = std::min<int>(e, size - lanes);
    V v[lanes];
#pragma GCC unroll 16
    for (int l = 0; l < lanes; ++l) std::memcpy(&v[l], packet.of[l] + first, sizeof(V));
    turn<lanes>(v);
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) to[(first + i) * step] = v[i];
  }
}

template <int step, class T, int lanes, class V, class Size>
[[gnu::always_inline]] inline void store(const Packet<T, lanes>& packet, Size size, const V* from) {
  if constexpr (is_short<Size, V, lanes>())
    if (packet.adjacent)
      return store_short<step, Size::value, lanes>(packet.of[0], from,
                                                   std::make_integer_sequence<int, lanes>());
  if (size < lanes) {
    for (int l = 0; l < packet.count; ++l)
      for (int e = 0; e < size; ++e) packet.of[l][e] = static_cast<T>(from[e * step][l]);
    return;
  }
  for (int e = 0; e < size; e += lanes) {
    const int first = std::min<int>(e, size - lanes);
    V v[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) v[i] = from[(first + i) * step];
    turn<lanes>(v);
    if (packet.count == lanes) {
#pragma GCC unroll 16
      for (int l = 0; l < lanes; ++l) std::memcpy(packet.of[l] + first, &v[l], sizeof(V));
    } else {
      for (int l = 0; l < packet.count; ++l) std::memcpy(packet.of[l] + first, &v[l], sizeof(V));
    }
  }
}

/// Numbers of rows of the matrices from `first` on: of the model's width in registers, i32 in memory;
/// `period`: as many matrices, if they are repeated.
template <int lanes, class I>
void load_numbers(RowNumbers<const std::int32_t> from, std::int64_t first, std::int64_t count, int size,
                  std::int64_t period, I* to) {
  const Packet<const std::int32_t, lanes> packet(from.at, first, count, size, period);
  const std::int32_t* const packed = from.at + first * size;
  for (int e = 0; e < size; ++e)
    for (int l = 0; l < lanes; ++l) to[e][l] = from.packed ? packed[e * lanes + l] : packet.of[l][e];
}
template <int lanes, class I>
void store_numbers(RowNumbers<std::int32_t> to, std::int64_t first, std::int64_t count, int size,
                   const I* from) {
  if (to.packed) {
    std::int32_t* const packed = to.at + first * size;
    for (int e = 0; e < size; ++e)
      for (int l = 0; l < lanes; ++l) packed[e * lanes + l] = static_cast<std::int32_t>(from[e][l]);
    return;
  }
  const Packet<std::int32_t, lanes> packet(to.at, first, count, size);
  for (int l = 0; l < packet.count; ++l)
    for (int e = 0; e < size; ++e) packet.of[l][e] = static_cast<std::int32_t>(from[e][l]);
}

/// The elements of the packet after the one at `first`, which the processor, whose own fetching ahead ends
/// with a page, would wait for. There need not be one.
template <int lanes, class T, class Size>
[[gnu::always_inline]] inline void fetch_next(const T* from, std::int64_t first, Size size) {
  constexpr std::int64_t line = 64, least = 1024;
  const std::int64_t bytes = std::int64_t{lanes} * size * static_cast<std::int64_t>(sizeof(T));
  if (bytes < least) return;
  const char* const next = reinterpret_cast<const char*>(from + (first + lanes) * size);
  for (std::int64_t at = 0; at < bytes; at += line) _mm_prefetch(next + at, _MM_HINT_T0);
}

/// Packed elements, as they are.
template <int step, int lanes, class T, class V, class Size>
[[gnu::always_inline]] inline void load_packed(const T* from, Size size, V* to) {
  for (int e = 0; e < size; ++e) std::memcpy(&to[e * step], from + e * lanes, sizeof(V));
}
template <int step, int lanes, class T, class V, class Size>
[[gnu::always_inline]] inline void store_packed(T* to, Size size, const V* from) {
  for (int e = 0; e < size; ++e) std::memcpy(to + e * lanes, &from[e * step], sizeof(V));
}

/// Calls run(n), with n as a constant for these sides, which are written out.
template <int... sides, class Run>
void with_one_of(int n, const Run& run) {
  if (!((n == sides && (run(Fixed<sides>()), true)) || ...)) run(n);
}
template <class Run>
void with_side(int n, const Run& run) {
  with_one_of<2, 3, 4, 6, 8>(n, run);
}
/// The same for complex numbers, which take more code.
template <class Run>
void with_few_sides(int n, const Run& run) {
  with_one_of<2, 3, 4>(n, run);
}

/// Elements of a matrix with sides of this type.
template <class Side>
constexpr int room = Side::value* Side::value;
template <>
inline constexpr int room<int> = most_small_elements;

template <class T, int bytes, bool complex>
struct Code {
  using Pack = Packs<T, bytes>;
  using M = std::conditional_t<complex, ComplexModel<Pack>, Pack>;
  using F = typename M::F;
  using I = typename M::I;
  static constexpr int lanes = Pack::lanes;
  using From = Parted<const T>;
  using To = Parted<T>;

  static void lu(std::int64_t count, int rows, int columns, From from, To to, RowNumbers<std::int32_t> pivots,
                 RowNumbers<std::int32_t> permutation) {
    with_layout(to.packed || pivots.packed || permutation.packed,
                [&](auto packs) { lu_of<packs>(count, rows, columns, from, to, pivots, permutation); });
  }
  template <bool packs>
  static void lu_of(std::int64_t count, int rows, int columns, From from, To to,
                    RowNumbers<std::int32_t> pivots, RowNumbers<std::int32_t> permutation) {
    const int size = rows * columns, steps = std::min(rows, columns);
    const auto run = [&](auto m, auto n) __attribute__((always_inline)) {
      for (std::int64_t first = 0; first < count; first += lanes) {
        F a[most_small_elements];
        I found[most_written_out], order[most_written_out];
        read(from, first, count, size, a);
        const small::Elimination<M> elimination{.m = {}, .a = a, .pivots = found, .permutation = order};
        elimination.run(m, n, Fixed<0>());
        write<packs>(to, first, count, size, a);
        store_numbers<lanes>(pivots, first, count, steps, found);
        store_numbers<lanes>(permutation, first, count, rows, order);
      }
    };
    if (rows != columns) return run(rows, columns);
    with_side(rows, [&](auto n) { run(n, n); });
  }

  static void cholesky(std::int64_t count, int side, From from, To to) {
    with_layout(to.packed, [&](auto packs) { cholesky_of<packs>(count, side, from, to); });
  }
  template <bool packs>
  static void cholesky_of(std::int64_t count, int side, From from, To to) {
    with_side(side, [&](auto n) {
      const auto size = small::product(n, n);
      for (std::int64_t first = 0; first < count; first += lanes) {
        F a[room<decltype(n)>];
        read(from, first, count, size, a);
        small::cholesky(M(), n, a);
        write<packs>(to, first, count, size, a);
      }
    });
  }

  static void qr(std::int64_t count, int rows, int columns, int reflected, From from, To q_to, To r_to) {
    const int size = rows * columns, of_q = rows * reflected, of_r = reflected * columns;
    for (std::int64_t first = 0; first < count; first += lanes) {
      F a[most_small_elements], q[most_small_elements], tau[most_written_out];
      read(from, first, count, size, a);
      const small::Reflections<M> reflections{{}, rows, columns, a, tau};
      reflections.find();
      reflections.join(reflected, q);
      for (int i = 0; i < reflected; ++i)
        for (int j = 0; j < std::min(i, columns); ++j) a[i * columns + j] = F{};
      write<true>(q_to, first, count, of_q, q);
      write<true>(r_to, first, count, of_r, a);
    }
  }

  static void triangular_solve(const TriangularSolveParams& p, std::int64_t matrices, std::int64_t count,
                               int side, int width, From a_from, From b_from, To to) {
    const small::Triangle triangle = small::triangle_of(p.left_side, p.lower, p.transpose_a, p.unit_diagonal);
    with_right_sides(
        side, width, matrices, count, a_from, b_from, to,
        [&](std::int64_t, F* a) {
          if constexpr (complex)
            if (p.conjugate_a) small::conjugate(M(), side * side, a);
        },
        [&](auto n, auto columns, const F* a, F* x) {
          if constexpr (small::is_fixed<decltype(n)>)
            with_triangle(triangle, [&](auto fixed) { small::solve_triangle(M(), fixed, n, columns, a, x); });
          else
            small::solve_triangle(M(), triangle, n, columns, a, x);
        });
  }

  static void lu_solve(bool transposed, std::int64_t matrices, std::int64_t count, int side, int width,
                       From lu, RowNumbers<const std::int32_t> pivots, From b_from, To to) {
    I rows[most_written_out];
    with_right_sides(
        side, width, matrices, count, lu, b_from, to,
        [&](std::int64_t first, F*) { load_numbers<lanes>(pivots, first, count, side, matrices, rows); },
        [&](auto n, auto columns, const F* a, F* x) {
          small::solve_factored(M(), transposed, n, columns, a, rows, x);
        });
  }

  static void solve(std::int64_t count, int side, int width, From a_from, From b_from, To to) {
    with_right_sides<true>(
        side, width, count, count, a_from, b_from, to, [](std::int64_t, F*) {},
        [](auto n, auto columns, F* a, F* x) { small::solve(M(), n, columns, a, x); });
  }

  static constexpr SmallMatrixCode<T> table{lu, cholesky, qr, triangular_solve, lu_solve, solve};

 private:
  /// The matrices of a packet; `period`: as many, if they are repeated.
  template <class Size>
  [[gnu::always_inline]] static void read(From from, std::int64_t first, std::int64_t count, Size size, F* to,
                                          auto... period) {
    fetch_next<lanes>(from.re, first, size);
    if constexpr (complex) {
      fetch_next<lanes>(from.im, first, size);
      load<2>(Packet<const T, lanes>(from.re, first, count, size, period...), size, &to->re);
      load<2>(Packet<const T, lanes>(from.im, first, count, size, period...), size, &to->im);
    } else {
      load<1>(Packet<const T, lanes>(from.re, first, count, size, period...), size, to);
    }
  }
  template <class Size>
  [[gnu::always_inline]] static void read_packed(From from, std::int64_t first, Size size, F* to) {
    const std::int64_t at = first * size;
    if constexpr (complex) {
      load_packed<2, lanes>(from.re + at, size, &to->re);
      load_packed<2, lanes>(from.im + at, size, &to->im);
    } else {
      load_packed<1, lanes>(from.re + at, size, to);
    }
  }
  /// `packs`: whether they may be packed.
  template <bool packs, class Size>
  [[gnu::always_inline]] static void write(To to, std::int64_t first, std::int64_t count, Size size,
                                           const F* from) {
    if (packs && to.packed) {
      const std::int64_t at = first * size;
      if constexpr (complex) {
        store_packed<2, lanes>(to.re + at, size, &from->re);
        store_packed<2, lanes>(to.im + at, size, &from->im);
      } else {
        store_packed<1, lanes>(to.re + at, size, from);
      }
    } else if constexpr (complex) {
      store<2>(Packet<T, lanes>(to.re, first, count, size), size, &from->re);
      store<2>(Packet<T, lanes>(to.im, first, count, size), size, &from->im);
    } else {
      store<1>(Packet<T, lanes>(to.re, first, count, size), size, from);
    }
  }

  /// Calls run(n), with n as a constant for the sides that are written out.
  template <class Run>
  static void with_side(int n, const Run& run) {
    if constexpr (complex)
      small_code::with_few_sides(n, run);
    else
      small_code::with_side(n, run);
  }

  /// Calls run(triangle), as constants if its diagonal is not one.
  template <class Run>
  [[gnu::always_inline]] static void with_triangle(small::Triangle t, const Run& run) {
    if (t.unit) return run(t);
    if (t.lower)
      t.transposed ? run(small::FixedTriangle<true, true>()) : run(small::FixedTriangle<true, false>());
    else
      t.transposed ? run(small::FixedTriangle<false, true>()) : run(small::FixedTriangle<false, false>());
  }

  /// Calls run(std::bool_constant): whether there is anything packed, which other code knows nothing of.
  template <class Run>
  static void with_layout(bool packs, const Run& run) {
    packs ? run(std::true_type()) : run(std::false_type());
  }

  /// Calls also(first, a) and run(n, columns, a, x) for the packets of equations that begin with `first`.
  /// Where right sides or solutions are packed, so are the matrices. `changes`: whether `run` writes to a.
  template <bool changes = false, class Also, class Run>
  static void with_right_sides(int side, int width, std::int64_t matrices, std::int64_t count, From a_from,
                               From b_from, To to, const Also& also, const Run& run) {
    const auto all = [&](auto n, auto columns) {
      const auto of_a = small::product(n, n), of_b = small::product(n, columns);
      F a[room<decltype(n)>], x[most_small_elements];
      for (std::int64_t first = 0; first < count; first += lanes) {
        // One matrix for all right sides is there already.
        if (first == 0 || matrices > 1) {
          read(a_from, first, count, of_a, a, matrices);
          also(first, a);
        }
        read(b_from, first, count, of_b, x);
        run(n, columns, a, x);
        write<false>(to, first, count, of_b, x);
      }
    };
    const auto all_packed = [&](auto n, auto columns) {
      const auto of_a = small::product(n, n), of_b = small::product(n, columns);
      // Real numbers that stay as they are are read where they are.
      constexpr bool copied = complex || changes;
      F copy[copied ? room<decltype(n)> : 1], x[most_small_elements];
      for (std::int64_t first = 0; first < count; first += lanes) {
        if constexpr (copied) read_packed(a_from, first, of_a, copy);
        also(first, copy);
        const auto a = [&] {
          if constexpr (copied)
            return &copy[0];
          else
            return reinterpret_cast<const F*>(a_from.re + first * of_a);
        }();
        if (b_from.packed)
          read_packed(b_from, first, of_b, x);
        else
          read(b_from, first, count, of_b, x);
        run(n, columns, a, x);
        write<true>(to, first, count, of_b, x);
      }
    };
    with_layout(a_from.packed, [&](auto packs) {
      const auto& one = [&]() -> const auto& {
        if constexpr (packs)
          return all_packed;
        else
          return all;
      }
      ();
      // Mostly one right side.
      if (width != 1) return one(side, width);
      with_side(side, [&](auto n) { one(n, Fixed<1>()); });
    });
  }
};

template <class T, int bytes>
constexpr SmallMatrixCodes<T> codes_of() {
  return {Code<T, bytes, false>::table, Code<T, bytes, true>::table};
}

}  // namespace apsis::detail::small_code
