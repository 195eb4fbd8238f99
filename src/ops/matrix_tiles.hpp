#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "ops/first_lanes.hpp"
#include "ops/math/pack_model.hpp"

namespace apsis::detail {

/// A tile of a product of matrices, whose sums fit into registers. Strides are in elements; of the right
/// operand what one step of k needs lies together.
template <class T>
struct Tile {
  const T* left;
  std::int64_t left_row, left_step;
  const T* right;
  std::int64_t right_step;
  std::int64_t steps;  // of k
  T* result;
  std::int64_t stride;   // between rows of the result
  bool adds;             // to what the result holds
  std::int64_t columns;  // of the result; the right operand has whole registers
  const T* next;  // rows of the left operand, without gaps, that are fetched for a later tile; null: none
};

/// A row times a matrix whose rows lie together: at most `most_row_columns` columns.
template <class T>
struct Row {
  const T* left;
  std::int64_t left_step;
  const T* right;
  std::int64_t right_step;
  std::int64_t steps, columns;
  T* result;
  bool adds;
};

/// A matrix whose rows are without gaps, times a vector, which is so, too. A chain of `steps` terms for each
/// row.
template <class T>
struct Rows {
  const T* matrix;
  std::int64_t stride;  // between rows
  const T* vector;
  std::int64_t rows, steps;
  T* result;
  bool adds;
  std::int64_t next;  // elements from what is read now to what is fetched for the next call; 0: nothing
};

/// Pairs of rows without gaps: of each pair a chain of `steps` terms.
template <class T>
struct Pairs {
  const T *left, *right;
  std::int64_t stride;  // from one pair to the next, of both
  std::int64_t pairs, steps;
  T* result;
};

constexpr int most_tile_rows = 14;
constexpr std::int64_t most_row_columns = 512;

/// The functions for tiles of 1 to `height` rows and of `width` columns, of fewer, or of at most half as
/// many; for a row of any number of columns, and for any number of rows and of pairs.
template <class T>
struct Tiles {
  using OfRows = std::array<void (*)(const Tile<T>&), most_tile_rows>;

  void multiply(const Tile<T>& tile, std::int64_t rows) const {
    const OfRows& all = tile.columns == width ? whole : 2 * tile.columns > width ? edges : narrow;
    all[static_cast<std::size_t>(rows - 1)](tile);
  }

  std::int64_t height, width;
  OfRows whole, edges, narrow;
  void (*row)(const Row<T>&);
  void (*rows)(const Rows<T>&);
  void (*pairs)(const Pairs<T>&);
};
/// For registers of 32 bytes, and for those of 64 that only some processors have.
template <class T>
Tiles<T> avx2_tiles();
template <>
Tiles<float> avx2_tiles();
template <>
Tiles<double> avx2_tiles();
template <>
Tiles<std::uint16_t> avx2_tiles();
template <>
Tiles<std::uint32_t> avx2_tiles();
template <>
Tiles<std::uint64_t> avx2_tiles();
template <class T>
Tiles<T> avx512_tiles();
template <>
Tiles<float> avx512_tiles();
template <>
Tiles<double> avx512_tiles();
template <>
Tiles<std::uint16_t> avx512_tiles();
template <>
Tiles<std::uint32_t> avx512_tiles();
template <>
Tiles<std::uint64_t> avx512_tiles();
template <class T>
Tiles<T> tiles_for(bool wide_registers) {
  return wide_registers ? avx512_tiles<T>() : avx2_tiles<T>();
}

/// sum + a·b of registers: of floats rounded once, of integers as they wrap.
template <class T, int register_bytes, class Vector>
[[gnu::always_inline]] inline Vector multiply_add(const Vector& a, const Vector& b, const Vector& sum) {
  if constexpr (std::is_floating_point_v<T>)
    return math::Register<register_bytes>::fma(a, b, sum);
  else
    return sum + a * b;
}
/// The same of two numbers.
template <class T>
[[gnu::always_inline]] inline T multiply_add(T a, T b, T sum) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fma(a, b, sum);
  else
    return static_cast<T>(sum + std::uint64_t{a} * b);
}

/// The columns of one or two registers, or fewer. Three rows of the left operand are found from one address:
/// that is as many as one stride and a scale reach, and leaves a register for each address.
template <class T, int register_bytes, int rows, int registers, bool whole>
void multiply_tile(const Tile<T>& t) {
  constexpr int lanes = register_bytes / static_cast<int>(sizeof(T)), reached = 3;
  using Vector = typename math::PackOf<T, lanes>::type;
  const auto load = [](const T* from) {
    Vector v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  };
  Vector sums[rows][registers] = {};
  const std::int64_t row = t.left_row, left_step = t.left_step, right_step = t.right_step;
  const T *left[(rows + reached - 1) / reached], *right = t.right;
  constexpr int line = 64 / static_cast<int>(sizeof(T));  // of the cache
  const T* next = t.next ? t.next : t.left;
  const std::int64_t fetched = t.next ? rows : 0;  // a step
  for (int i = 0; i < rows; i += reached) left[i / reached] = t.left + i * row;
  // On its way while the sums are made.
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < registers; ++j) __builtin_prefetch(t.result + i * t.stride + j * lanes, 1);
  for (std::int64_t k = 0; k < t.steps; ++k, right += right_step) {
    Vector b[registers];
    for (int j = 0; j < registers; ++j) b[j] = load(right + j * lanes);
    for (int i = 0; i < rows; ++i) {
      const Vector a = left[i / reached][i % reached * row] - Vector{};  // the same in all lanes
      for (int j = 0; j < registers; ++j) sums[i][j] = multiply_add<T, register_bytes>(a, b[j], sums[i][j]);
    }
    for (int i = 0; i < rows; i += line) __builtin_prefetch(next + i);
    next += fetched;
    for (const T*& l : left) l += left_step;
  }
  // Written out twice, so that the sums need no memory to be chosen from.
  const FirstLanes<T, register_bytes> last(t.columns - (registers - 1) * lanes);
  const auto finish = [&](auto adds) {
#pragma GCC unroll 14
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
      for (int j = 0; j < registers; ++j) {
        T* const result = t.result + i * t.stride + j * lanes;
        const bool fills = whole || j + 1 < registers;
        if constexpr (adds()) sums[i][j] = (fills ? load(result) : last.load(result)) + sums[i][j];
        if (fills)
          __builtin_memcpy(result, &sums[i][j], sizeof(Vector));
        else
          last.store(result, sums[i][j]);
      }
  };
  t.adds ? finish(std::true_type()) : finish(std::false_type());
}

/// Rows of the matrix are read from one end to the other, a few side by side, as memory gives them fastest;
/// sums stay in the first cache.
template <class T, int register_bytes>
void multiply_row(const Row<T>& r) {
  constexpr int lanes = register_bytes / static_cast<int>(sizeof(T)), together = 8;
  using Vector = typename math::PackOf<T, lanes>::type;
  const auto load = [](const T* from) {
    Vector v;
    __builtin_memcpy(&v, from, sizeof v);
    return v;
  };
  alignas(register_bytes) T sums[most_row_columns] = {};
  const std::int64_t whole = r.columns / lanes * lanes;
  const auto add_rows = [&](std::int64_t k, auto count) {
    const T* right = r.right + k * r.right_step;
    Vector a[count()];
    for (int i = 0; i < count(); ++i) a[i] = r.left[(k + i) * r.left_step] - Vector{};  // in all lanes
    for (std::int64_t j = 0; j < whole; j += lanes) {
      Vector sum = load(sums + j);
      for (int i = 0; i < count(); ++i)
        sum = multiply_add<T, register_bytes>(a[i], load(right + i * r.right_step + j), sum);
      __builtin_memcpy(sums + j, &sum, sizeof sum);
    }
    for (std::int64_t j = whole; j < r.columns; ++j)
      for (int i = 0; i < count(); ++i)
        sums[j] = multiply_add<T>(a[i][0], right[i * r.right_step + j], sums[j]);
  };
  std::int64_t k = 0;
  for (; k + together <= r.steps; k += together) add_rows(k, std::integral_constant<int, together>());
  for (; k < r.steps; ++k) add_rows(k, std::integral_constant<int, 1>());
  for (std::int64_t j = 0; j < r.columns; ++j) r.result[j] = r.adds ? r.result[j] + sums[j] : sums[j];
}

/// One stage of the transposition of as many registers as they have lanes: the halves of blocks of 2 · `step`
/// change places across the diagonal.
template <int step, class Vector, std::size_t... lane>
[[gnu::always_inline]] inline void swap_halves(Vector& x, Vector& y, std::index_sequence<lane...>) {
  constexpr int lanes = sizeof...(lane);
  const Vector low = __builtin_shufflevector(
      x, y, ((lane & step) != 0 ? lanes + static_cast<int>(lane) - step : static_cast<int>(lane))...);
  y = __builtin_shufflevector(
      x, y, ((lane & step) != 0 ? lanes + static_cast<int>(lane) : static_cast<int>(lane) + step)...);
  x = low;
}

/// The last two stages for numbers of four bytes, of which the processor has instructions that together take
/// less.
template <class Vector, std::size_t... lane>
[[gnu::always_inline]] inline void transpose_quads(Vector* rows, std::index_sequence<lane...>) {
  constexpr int lanes = sizeof...(lane);
  const auto interleaved = [](const Vector& x, const Vector& y, auto half) {
    return __builtin_shufflevector(x, y,
                                   (static_cast<int>(lane) / 4 * 4 + 2 * half() +
                                    static_cast<int>(lane) % 4 / 2 + (lane % 2 == 1 ? lanes : 0))...);
  };
  const auto halves = [](const Vector& x, const Vector& y, auto half) {
    return __builtin_shufflevector(x, y,
                                   (static_cast<int>(lane) / 4 * 4 + 2 * half() + static_cast<int>(lane) % 2 +
                                    (lane % 4 >= 2 ? lanes : 0))...);
  };
  using Low = std::integral_constant<int, 0>;
  using High = std::integral_constant<int, 1>;
  const Vector low = interleaved(rows[0], rows[1], Low()), low_after = interleaved(rows[2], rows[3], Low()),
               high = interleaved(rows[0], rows[1], High()),
               high_after = interleaved(rows[2], rows[3], High());
  rows[0] = halves(low, low_after, Low());
  rows[1] = halves(low, low_after, High());
  rows[2] = halves(high, high_after, Low());
  rows[3] = halves(high, high_after, High());
}

template <int step, int registers, class Vector>
[[gnu::always_inline]] inline void transpose_registers(Vector (&rows)[registers]) {
  constexpr std::size_t size = sizeof(rows[0][0]);
  constexpr auto lanes = std::make_index_sequence<sizeof(Vector) / size>();
  if constexpr (step == 2 && size == 4) {
    for (int i = 0; i < registers; i += 4) transpose_quads(rows + i, lanes);
  } else {
    for (int i = 0; i < registers; ++i)
      if ((i & step) == 0) swap_halves<step>(rows[i], rows[i + step], lanes);
    if constexpr (step > 1) transpose_registers<step / 2>(rows);
  }
}

/// Half as many columns as a register has lanes, from one on, turned: register k holds column k. Halves of
/// registers meet as they are read: that is not done by the only unit that moves elements from one register
/// to another.
template <int register_bytes, class T, class Vector, int half, class RowOf>
[[gnu::always_inline]] inline void load_columns(const RowOf& row_of, std::int64_t column,
                                                Vector (&block)[half]) {
  using Register = math::Register<register_bytes>;
  for (int i = 0; i < half; ++i)
    block[i] = std::bit_cast<Vector>(Register::load_halves(row_of(i) + column, row_of(i + half) + column));
  transpose_registers<half / 2>(block);
}

/// As many rows at a time as a register has lanes, or twice as many, each with a chain of its own: blocks of
/// the matrix are turned in registers. One chain by itself would wait for its last sum.
template <class T, int register_bytes>
void multiply_rows(const Rows<T>& r) {
  constexpr int lanes = register_bytes / static_cast<int>(sizeof(T)), half = lanes / 2;
  using Vector = typename math::PackOf<T, lanes>::type;
  using First = FirstLanes<T, register_bytes>;
  const std::int64_t whole = r.steps / lanes * lanes, rest = r.steps - whole;
  const auto add = [&](Vector& sum, const Vector& terms, const T* factor) {
    sum = multiply_add<T, register_bytes>(terms, *factor - Vector{}, sum);
  };
  // As many rows as are `reached` are found from one address; of one alone the last is taken for those behind
  // it.
  const auto multiply = [&](std::int64_t first, auto groups, auto reached) {
    const auto each_group = [&](const auto& run) {
      run(0);
      if constexpr (groups() > 1) run(1);
    };
    Vector sums[groups()] = {};
    const T *at[groups() * lanes / reached()], *vector = r.vector;
    const auto row = [&](int i) { return at[i / reached()] + i % reached() * r.stride; };
    for (int i = 0; i < groups() * lanes; i += reached())
      at[i / reached()] = r.matrix + (reached() > 1 ? first + i : std::min(first + i, r.rows - 1)) * r.stride;
    for (std::int64_t k = 0; k < whole; k += lanes, vector += lanes) {
      each_group([&](int g) {
        if (r.next != 0)
          for (int i = 0; i < lanes; ++i) __builtin_prefetch(row(g * lanes + i) + r.next);
        for (int first_column = 0; first_column < lanes; first_column += half) {
          Vector block[half];
          load_columns<register_bytes, T>([&](int i) { return row(g * lanes + i); }, first_column, block);
          for (int j = 0; j < half; ++j) add(sums[g], block[j], vector + first_column + j);
        }
      });
      for (const T*& a : at) a += lanes;
    }
    if (rest > 0) {
      const First there(rest);
      each_group([&](int g) {
        Vector block[lanes];
        for (int i = 0; i < lanes; ++i) block[i] = there.load(row(g * lanes + i));
        transpose_registers<lanes / 2>(block);
#pragma GCC unroll 32
        for (int j = 0; j < lanes; ++j)
          if (j < rest) add(sums[g], block[j], vector + j);
      });
    }
    each_group([&](int g) {
      const std::int64_t i = first + g * lanes;
      const First there(std::min<std::int64_t>(lanes, r.rows - i));
      there.store(r.result + i, r.adds ? there.load(r.result + i) + sums[g] : sums[g]);
    });
  };
  using One = std::integral_constant<int, 1>;
  using Four = std::integral_constant<int, 4>;
  using Most = std::integral_constant<int, lanes <= 16 ? 2 : 1>;
  std::int64_t i = 0;
  for (; i + Most() * lanes <= r.rows; i += Most() * lanes) multiply(i, Most(), Four());
  for (; i + lanes <= r.rows; i += lanes) multiply(i, One(), Four());
  if (i < r.rows) multiply(i, One(), One());
}

/// As many pairs at a time as a register has lanes, as above.
template <class T, int register_bytes>
void multiply_pairs(const Pairs<T>& p) {
  constexpr int lanes = register_bytes / static_cast<int>(sizeof(T)), half = lanes / 2;
  using Vector = typename math::PackOf<T, lanes>::type;
  const std::int64_t whole = p.steps / lanes * lanes;
  for (std::int64_t i = 0; i < p.pairs; i += lanes) {
    const auto here = static_cast<int>(p.pairs - i < lanes ? p.pairs - i : lanes);
    const auto row = [&](const T* of, int j) { return of + (i + (j < here ? j : 0)) * p.stride; };
    Vector sum = {};
    for (std::int64_t k = 0; k < whole; k += half) {
      Vector left[half], right[half];
      load_columns<register_bytes, T>([&](int j) { return row(p.left, j); }, k, left);
      load_columns<register_bytes, T>([&](int j) { return row(p.right, j); }, k, right);
      for (int j = 0; j < half; ++j) sum = multiply_add<T, register_bytes>(left[j], right[j], sum);
    }
    for (std::int64_t k = whole; k < p.steps; ++k)
      for (int j = 0; j < here; ++j) sum[j] = multiply_add<T>(row(p.left, j)[k], row(p.right, j)[k], sum[j]);
    for (int j = 0; j < here; ++j) p.result[i + j] = sum[j];
  }
}

template <class T, int register_bytes, int height>
constexpr Tiles<T> tiles_of() {
  return []<std::size_t... r>(std::index_sequence<r...>) {
    return Tiles<T>{height,
                    2 * register_bytes / static_cast<int>(sizeof(T)),
                    {multiply_tile<T, register_bytes, static_cast<int>(r) + 1, 2, true>...},
                    {multiply_tile<T, register_bytes, static_cast<int>(r) + 1, 2, false>...},
                    {multiply_tile<T, register_bytes, static_cast<int>(r) + 1, 1, false>...},
                    multiply_row<T, register_bytes>,
                    multiply_rows<T, register_bytes>,
                    multiply_pairs<T, register_bytes>};
  }
  (std::make_index_sequence<height>());
}

}  // namespace apsis::detail
