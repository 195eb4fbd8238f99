#pragma once

// The operands of products of matrices: where they lie, and their panels, copied into the order in which
// tiles read them.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/halves.hpp"
#include "ops/kept_scratch.hpp"
#include "ops/matrix_tiles.hpp"

namespace apsis::detail {

template <class T>
struct Strided {
  const T* data;
  std::int64_t row_stride, column_stride;

  const T* at(std::int64_t row, std::int64_t column) const {
    return data + row * row_stride + column * column_stride;
  }
  Strided transposed() const { return {data, column_stride, row_stride}; }
};

/// So many lines as whole tiles have.
constexpr std::int64_t padded(std::int64_t lines, std::int64_t to) { return (lines + to - 1) / to * to; }

/// Memory for panels, kept by each thread.
template <class T>
T* panel_memory(std::size_t which, std::int64_t elements) {
  static thread_local std::array<KeptPages, 4> all;
  return static_cast<T*>(all[which].at_least(static_cast<std::size_t>(elements) * sizeof(T)));
}

/// Elements of an operand in the type of the sums: one, and `count` that follow one another.
template <class T, class Element>
T loaded(const Element* from) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, Element>)
    return *from;
  else
    return widened(*from);
}
template <class T, int count>
using Line = typename math::PackOf<T, count>::type;
template <class T, int count, class Element>
Line<T, count> loaded_line(const Element* from) {
  if constexpr (std::is_same_v<Element, float16>) {
    if constexpr (count == 8)
      return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    else
      return _mm_cvtph_ps(_mm_loadu_si64(from));
  } else if constexpr (std::is_same_v<Element, bfloat16>) {
    Line<std::uint16_t, count> halves;
    __builtin_memcpy(&halves, from, sizeof halves);
    return std::bit_cast<Line<T, count>>(__builtin_convertvector(halves, Line<std::uint32_t, count>) << 16);
  } else {
    Line<Element, count> line;
    __builtin_memcpy(&line, from, sizeof line);
    return __builtin_convertvector(line, Line<T, count>);
  }
}

template <class T, class Element>
void copy_line(const Element* from, std::int64_t count, T* to) {
  std::int64_t i = 0;
  if constexpr (std::is_same_v<Element, float16>)  // the compiler does not vectorise its conversion
    for (; i + 8 <= count; i += 8) {
      const Line<T, 8> line = loaded_line<T, 8>(from + i);
      __builtin_memcpy(to + i, &line, sizeof line);
    }
  for (; i < count; ++i) to[i] = loaded<T>(from + i);
}

/// Steps of as many lines change places, from lines to steps.
template <int count, class T, class Element>
void transpose_lines(const Element* from, std::int64_t line_stride, std::int64_t steps, T* to,
                     std::int64_t width) {
  for (std::int64_t k = 0; k + count <= steps; k += count) {
    Line<T, count> line[count];
    for (int i = 0; i < count; ++i) line[i] = loaded_line<T, count>(from + i * line_stride + k);
    transpose_registers<count / 2>(line);
    for (int i = 0; i < count; ++i) __builtin_memcpy(to + (k + i) * width, &line[i], sizeof line[i]);
  }
}

/// Lines of a matrix (rows of the left operand, columns of the right one) beside each other, for one step of
/// k after the other; zeros for lines that a panel of `width` has too many.
template <class T, class Element>
void copy_panel(const Element* from, std::int64_t line_stride, std::int64_t step_stride, std::int64_t lines,
                std::int64_t width, std::int64_t steps, T* to) {
  if (lines < width) std::fill_n(to, width * steps, T{});
  if (line_stride == 1) {
    for (std::int64_t k = 0; k < steps; ++k) copy_line(from + k * step_stride, lines, to + k * width);
    return;
  }
  constexpr int most = sizeof(T) == 4 ? 8 : 4;  // a register
  std::int64_t block_lines = 0;
  if (step_stride == 1) {
    const auto copy_lines = [&]<int count>(std::integral_constant<int, count>) {
      for (; block_lines + count <= lines; block_lines += count)
        transpose_lines<count>(from + block_lines * line_stride, line_stride, steps / most * most,
                               to + block_lines, width);
    };
    copy_lines(std::integral_constant<int, most>());
    copy_lines(std::integral_constant<int, 4>());
  }
  for (std::int64_t i = 0; i < lines; ++i)
    for (std::int64_t k = i < block_lines ? steps / most * most : 0; k < steps; ++k)
      to[k * width + i] = loaded<T>(from + i * line_stride + k * step_stride);
}

}  // namespace apsis::detail
