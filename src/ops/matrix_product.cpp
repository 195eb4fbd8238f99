// Products of large matrices: panels of both operands are copied into the order of reading, tiles of the
// result are summed in registers. (Goto and van de Geijn, Anatomy of high-performance matrix multiplication,
// ACM TOMS 34, 2008.)

#include "ops/matrix_product.hpp"

#include <algorithm>
#include <concepts>
#include <utility>

#include "core/convert.hpp"
#include "ops/dtype_set.hpp"
#include "ops/matrix_panels.hpp"
#include "ops/matrix_tiles.hpp"
#include "ops/sum_order.hpp"

namespace apsis::detail {
namespace {

/// Terms of a chain, which is part of the order of sums.
constexpr std::int64_t steps_at_once = 256;
// What is copied at once stays in the second level of the cache (left) or the third (right).
constexpr std::int64_t columns_at_once = 512, rows_at_once = 84;
/// Rows of sums that are kept before they become elements of the result.
constexpr std::int64_t rows_of_sums = 3 * rows_at_once;

/// How the elements of a type are read, and what they are added up in: half floats in f32, integers without
/// their signs, as the low bits of sums and products do not depend on them.
template <class Element>
struct Computed {
  using Stored = Element;
  using Sum = ComputeOf<Element>;
};
template <std::integral Element>
struct Computed<Element> {
  using Stored = std::make_unsigned_t<Element>;
  using Sum = std::conditional_t<sizeof(Element) == 1, std::uint16_t, Stored>;
};

/// A panel of an operand: copied to memory of its own, or where it is.
template <class T>
struct Panel {
  const T* data;
  std::int64_t line, step;  // strides
};
template <class T, class Element>
Panel<T> panel_of(bool copied, const T* copy, std::int64_t width, const Element* there, std::int64_t line,
                  std::int64_t step) {
  if constexpr (std::is_same_v<T, Element>)
    if (!copied) return {there, line, step};
  return {copy, 1, width};
}

/// Whether rows of the left operand are copied, though tiles read its elements one by one from wherever they
/// are. Those far apart are another page at each step; rows one cache line of a set apart push each other out
/// of the cache.
template <class T>
bool copies_left(const Strided<T>& a) {
  constexpr std::int64_t far = 2048;  // bytes
  const auto bytes = [](std::int64_t stride) { return stride * static_cast<std::int64_t>(sizeof(T)); };
  return bytes(a.column_stride) >= far || bytes(a.row_stride) % far == 0;
}
/// Whether columns of the right operand are copied: they are read once for each tile of rows, with all
/// columns of a tile in one piece.
template <class T>
bool copies_right(std::int64_t rows, std::int64_t height, const Strided<T>& b) {
  constexpr std::int64_t few_tiles = 6;
  return b.column_stride != 1 || rows > few_tiles * height;
}

template <class T, class Element>
void multiply_matrices(const Tiles<T>& tiles, std::int64_t m, std::int64_t n, std::int64_t k,
                       Strided<Element> a, Strided<Element> b, T* c, std::int64_t row) {
  const std::int64_t height = tiles.height, width = tiles.width;
  const std::int64_t most_steps = std::min(steps_at_once, k);
  constexpr bool converts = !std::is_same_v<T, Element>;
  const bool copy_left = converts || copies_left(a), copy_right = converts || copies_right(m, height, b);
  T* const right = panel_memory<T>(0, most_steps * padded(std::min(columns_at_once, n), width));
  T* const left = panel_memory<T>(1, most_steps * padded(std::min(rows_at_once, m), height));
  for (std::int64_t j0 = 0; j0 < n; j0 += columns_at_once)
    for (std::int64_t k0 = 0; k0 < k; k0 += steps_at_once) {
      const std::int64_t columns = std::min(columns_at_once, n - j0), steps = std::min(steps_at_once, k - k0);
      // A tile reads whole registers: the last columns are copied, as what follows them may be nobody's.
      const auto right_copied = [&](std::int64_t j) { return copy_right || columns - j < width; };
      // Rows that lie together are copied from one end to the other, a few side by side.
      constexpr std::int64_t few_rows = 8;
      const std::int64_t most = b.column_stride == 1 ? few_rows : steps;
      for (std::int64_t s = 0; s < steps; s += most)
        for (std::int64_t j = 0; j < columns; j += width)
          if (right_copied(j))
            copy_panel(b.at(k0 + s, j0 + j), b.column_stride, b.row_stride, std::min(width, columns - j),
                       width, std::min(most, steps - s), right + j * steps + s * width);
      for (std::int64_t i0 = 0; i0 < m; i0 += rows_at_once) {
        const std::int64_t rows = std::min(rows_at_once, m - i0);
        for (std::int64_t i = 0; copy_left && i < rows; i += height)
          copy_panel(a.at(i0 + i, k0), a.row_stride, a.column_stride, std::min(height, rows - i), height,
                     steps, left + i * steps);
        for (std::int64_t j = 0; j < columns; j += width)
          for (std::int64_t i = 0; i < rows; i += height) {
            const std::int64_t tall = std::min(height, rows - i), wide = std::min(width, columns - j);
            const auto l = panel_of(copy_left, left + i * steps, height, a.at(i0 + i, k0), a.row_stride,
                                    a.column_stride);
            const auto r =
                panel_of(right_copied(j), right + j * steps, width, b.at(k0, j0 + j), 1, b.row_stride);
            // The processor itself fetches what follows in a row, not the rows further on.
            const bool fetches = j == 0 && !copy_left && a.column_stride == 1 && a.row_stride == steps;
            tiles.multiply({l.data, l.line, l.step, r.data, r.step, steps, c + (i0 + i) * row + j0 + j, row,
                            k0 > 0, wide, fetches ? l.data + 2 * height * steps : nullptr},
                           tall);
          }
      }
    }
}

/// Two rows of terms, and the element of the result that their chain is added to.
template <class T>
struct Chain {
  const T *left, *right;
  T* result;
  bool adds;  // to what the result holds
};

/// Several chains at a time: none waits for its last sum.
template <class T, class ChainOf>
void add_up_chains(std::int64_t count, std::int64_t steps, std::int64_t left_stride,
                   std::int64_t right_stride, ChainOf&& chain_of) {
  constexpr std::int64_t most = 8;
  for (std::int64_t first = 0; first < count; first += most) {
    const std::int64_t here = std::min(most, count - first);
    Chain<T> chains[most];
    for (std::int64_t i = 0; i < most; ++i) chains[i] = chain_of(first + std::min(i, here - 1));
    T sums[most] = {};
    for (std::int64_t k = 0; k < steps; ++k)
      for (std::int64_t i = 0; i < most; ++i)
        sums[i] =
            multiply_add<T>(chains[i].left[k * left_stride], chains[i].right[k * right_stride], sums[i]);
    for (std::int64_t i = 0; i < here; ++i) {
      T& result = *chains[i].result;
      result = chains[i].adds ? result + sums[i] : sums[i];
    }
  }
}

/// A matrix whose rows are without gaps, with a vector. Processors with registers of 64 bytes are asked to
/// fetch more rows side by side than they do by themselves. Others are fastest with as many as are multiplied
/// at a time, from one end to the other. None knows that short rows are followed by others.
template <class T>
void multiply_rows(const Tiles<T>& tiles, std::int64_t m, std::int64_t k, Strided<T> a, const T* b,
                   std::int64_t stride, T* c) {
  constexpr std::int64_t size = sizeof(T), most_cached = 16 << 20, short_row = 512;  // bytes
  const std::int64_t row = k * size;
  const bool is_long = m * row > most_cached, fetches = tiles.width * size == 2 * 64;
  const std::int64_t rows_at_once = is_long && !fetches ? tiles.width : 32,
                     next = row <= short_row     ? rows_at_once * a.row_stride
                            : is_long && fetches ? steps_at_once
                                                 : 0;
  if (stride != 1) {
    T* const copy = panel_memory<T>(0, k);
    for (std::int64_t s = 0; s < k; ++s) copy[s] = b[s * stride];
    b = copy;
  }
  for (std::int64_t i = 0; i < m; i += rows_at_once)
    for (std::int64_t k0 = 0; k0 < k; k0 += steps_at_once)
      tiles.rows({a.at(i, k0), a.row_stride, b + k0, std::min(rows_at_once, m - i),
                  std::min(steps_at_once, k - k0), c + i, k0 > 0, next});
}

/// Any matrix, with a vector.
template <class T>
void multiply_vector(std::int64_t m, std::int64_t k, Strided<T> a, const T* b, std::int64_t stride, T* c) {
  const std::int64_t whole = k / steps_at_once, rest = k % steps_at_once;
  const auto chain_of = [&](std::int64_t row, std::int64_t block) {
    const std::int64_t from = block * steps_at_once;
    return Chain<T>{a.at(row, from), b + from * stride, c + row, block > 0};
  };
  add_up_chains<T>(m * whole, steps_at_once, a.column_stride, stride,
                   [&](std::int64_t n) { return chain_of(n / whole, n % whole); });
  if (rest > 0)
    add_up_chains<T>(m, rest, a.column_stride, stride,
                     [&](std::int64_t row) { return chain_of(row, whole); });
}

/// A vector with a matrix whose rows lie together.
template <class T>
void multiply_row(const Tiles<T>& tiles, std::int64_t n, std::int64_t k, Strided<T> a, Strided<T> b, T* c) {
  for (std::int64_t j = 0; j < n; j += most_row_columns)
    for (std::int64_t k0 = 0; k0 < k; k0 += steps_at_once)
      tiles.row({a.at(0, k0), a.column_stride, b.at(k0, j), b.row_stride, std::min(steps_at_once, k - k0),
                 std::min(most_row_columns, n - j), c + j, k0 > 0});
}

/// A vector with a vector, both without gaps.
template <class T>
void multiply_vectors(const Tiles<T>& tiles, std::int64_t k, const T* a, const T* b, T* c) {
  T sums[sum_group];
  const std::int64_t whole = k / steps_at_once, at = whole * steps_at_once;
  tiles.pairs({a, b, steps_at_once, whole, steps_at_once, sums});
  if (at < k) tiles.pairs({a + at, b + at, 0, 1, k - at, sums + whole});
  *c = sums[0];
  for (std::int64_t i = 1; i * steps_at_once < k; ++i) *c = static_cast<T>(*c + sums[i]);
}

/// At most sum_group blocks.
template <class T>
void multiply_blocks(const Tiles<T>& tiles, std::int64_t m, std::int64_t n, std::int64_t k, Strided<T> a,
                     Strided<T> b, T* c, std::int64_t row) {
  if (m == 1 && n == 1 && a.column_stride == 1 && b.row_stride == 1)
    return multiply_vectors(tiles, k, a.data, b.data, c);
  if (n == 1 && a.column_stride == 1) return multiply_rows(tiles, m, k, a, b.data, b.row_stride, c);
  if (m == 1 && b.row_stride == 1)
    return multiply_rows(tiles, n, k, b.transposed(), a.data, a.column_stride, c);
  if (n == 1 && a.row_stride != 1) return multiply_vector(m, k, a, b.data, b.row_stride, c);
  if (m == 1 && b.column_stride != 1)
    return multiply_vector(n, k, b.transposed(), a.data, a.column_stride, c);
  if (n == 1) return multiply_row(tiles, m, k, b.transposed(), a.transposed(), c);
  if (m == 1) return multiply_row(tiles, n, k, a, b, c);
  multiply_matrices(tiles, m, n, k, a, b, c, row);
}

template <class T, class Element>
void multiply_blocks(const Tiles<T>& tiles, std::int64_t m, std::int64_t n, std::int64_t k,
                     Strided<Element> a, Strided<Element> b, T* c, std::int64_t row) {
  multiply_matrices(tiles, m, n, k, a, b, c, row);
}

/// How many sums of groups of blocks wait for others of their group.
std::int64_t levels_of_groups(std::int64_t k) {
  std::int64_t levels = 0;
  for (; sum_part(k, steps_at_once) > steps_at_once; ++levels) k = sum_part(k, steps_at_once);
  return levels;
}

/// Groups of blocks, groups of these, and so on (ops/sum_order.hpp). `group_sums` has a matrix for each
/// level.
template <class T, class Element>
void multiply_groups(const Tiles<T>& tiles, std::int64_t m, std::int64_t n, std::int64_t k,
                     Strided<Element> a, Strided<Element> b, T* c, T* group_sums) {
  const std::int64_t part = sum_part(k, steps_at_once);
  if (part == steps_at_once) return multiply_blocks(tiles, m, n, k, a, b, c, n);
  const auto multiply_part = [&](std::int64_t k0, T* sums) {
    multiply_groups(tiles, m, n, std::min(part, k - k0),
                    Strided<Element>{a.at(0, k0), a.row_stride, a.column_stride},
                    Strided<Element>{b.at(k0, 0), b.row_stride, b.column_stride}, sums, group_sums + m * n);
  };
  multiply_part(0, c);
  for (std::int64_t k0 = part; k0 < k; k0 += part) {
    multiply_part(k0, group_sums);
    for (std::int64_t i = 0; i < m * n; ++i) c[i] = static_cast<T>(c[i] + group_sums[i]);
  }
}

/// Parts of the result are summed in memory that stays in the cache, where sums are of another type than
/// elements or wait for those of other groups. They are complete before they become elements of the result.
template <class T, class Element>
void multiply(const Tiles<T>& tiles, std::int64_t m, std::int64_t n, std::int64_t k, Strided<Element> a,
              Strided<Element> b, Element* c, std::int64_t row) {
  const std::int64_t levels = levels_of_groups(k), most_rows = std::min(rows_of_sums, m),
                     most_columns = std::min(columns_at_once, n), size = most_rows * most_columns;
  if constexpr (std::is_same_v<T, Element>) {
    if (levels == 0) return multiply_blocks(tiles, m, n, k, a, b, c, row);
  } else if (n == 1 && m > 1) {
    return multiply(tiles, 1, m, k, b.transposed(), a.transposed(), c, m);
  }
  T* const sums = panel_memory<T>(2, size);
  T* const group_sums = panel_memory<T>(3, size * levels);
  for (std::int64_t i0 = 0; i0 < m; i0 += rows_of_sums)
    for (std::int64_t j0 = 0; j0 < n; j0 += columns_at_once) {
      const std::int64_t rows = std::min(rows_of_sums, m - i0), columns = std::min(columns_at_once, n - j0);
      multiply_groups(tiles, rows, columns, k, {a.at(i0, 0), a.row_stride, a.column_stride},
                      Strided<Element>{b.at(0, j0), b.row_stride, b.column_stride}, sums, group_sums);
      const std::int64_t lines = columns == row ? 1 : rows;  // without gaps
      for (std::int64_t i = 0; i < lines; ++i)
        convert_elements(dtype_of_type<T>::value, sums + i * columns, dtype_of_type<Element>::value,
                         c + (i0 + i) * row + j0, static_cast<std::size_t>(rows / lines * columns));
    }
}

template <class Element>
void multiply_as(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixOperand& a,
                 const MatrixOperand& b, void* c, std::int64_t row, bool wide_registers) {
  using Stored = typename Computed<Element>::Stored;
  using Sum = typename Computed<Element>::Sum;
  auto* const result = static_cast<Stored*>(c);
  for (std::int64_t i = 0; k == 0 && i < m; ++i) std::fill_n(result + i * row, n, Stored{});
  if (k == 0) return;
  const auto strided = [](const MatrixOperand& o) {
    return Strided<Stored>{static_cast<const Stored*>(o.data), o.row_stride, o.column_stride};
  };
  multiply(tiles_for<Sum>(wide_registers), m, n, k, strided(a), strided(b), result, row);
}

}  // namespace

std::int64_t product_part(std::int64_t k) { return sum_part(k, steps_at_once); }

void matrix_product(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, const MatrixOperand& a,
                    const MatrixOperand& b, void* c, std::int64_t row, bool wide_registers) {
  APSIS_ASSERT(row == n || (m > 1 && n > 1));
  visit_dtype<number_dtypes>(dtype, [&]<class Element>(std::type_identity<Element>) {
    multiply_as<Element>(m, n, k, a, b, c, row, wide_registers);
  });
}

}  // namespace apsis::detail
