#pragma once

// The operands of products of matrices: where they lie, and their panels, copied into the order in which
// tiles read them.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "core/halves.hpp"
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

/// Memory for panels, kept by each thread.
template <class T>
T* panel_memory(std::size_t which, std::int64_t elements) {
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  struct Memory {
    std::unique_ptr<void, Free> data;
    std::size_t bytes = 0;
  };
  constexpr std::size_t page = 4096;
  static thread_local std::array<Memory, 4> all;
  Memory& memory = all[which];
  const std::size_t bytes = (static_cast<std::size_t>(elements) * sizeof(T) + page - 1) / page * page;
  if (memory.bytes < bytes) {
    memory.data.reset(std::aligned_alloc(page, bytes));
    memory.bytes = memory.data ? bytes : 0;
    if (!memory.data) throw std::bad_alloc();
  }
  return static_cast<T*>(memory.data.get());
}

template <class T>
using Four = typename math::PackOf<T, 4>::type;

/// Elements of an operand in the type of the sums: one, and four that follow one another.
template <class T, class Element>
T loaded(const Element* from) {
  if constexpr (std::is_integral_v<T> || std::is_same_v<T, Element>)
    return *from;
  else
    return widened(*from);
}
template <class T, class Element>
Four<T> loaded_four(const Element* from) {
  if constexpr (std::is_same_v<Element, float16>) {
    return _mm_cvtph_ps(_mm_loadu_si64(from));
  } else if constexpr (std::is_same_v<Element, bfloat16>) {
    return std::bit_cast<Four<T>>(_mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadu_si64(from)), 16));
  } else {
    Four<Element> four;
    __builtin_memcpy(&four, from, sizeof four);
    return __builtin_convertvector(four, Four<T>);
  }
}

template <class T, class Element>
void copy_line(const Element* from, std::int64_t count, T* to) {
  std::int64_t i = 0;
  if constexpr (std::is_same_v<Element, float16>)  // the compiler does not vectorise its conversion
    for (; i + 4 <= count; i += 4) {
      const Four<T> four = loaded_four<T>(from + i);
      __builtin_memcpy(to + i, &four, sizeof four);
    }
  for (; i < count; ++i) to[i] = loaded<T>(from + i);
}

/// Four steps of four lines change places, from lines to steps.
template <class T, class Element>
void transpose_block(const Element* from, std::int64_t line_stride, T* to, std::int64_t width) {
  Four<T> line[4];
  for (int i = 0; i < 4; ++i) line[i] = loaded_four<T>(from + i * line_stride);
  transpose_registers<2>(line);
  for (int k = 0; k < 4; ++k) __builtin_memcpy(to + k * width, &line[k], sizeof(Four<T>));
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
  const std::int64_t block_lines = step_stride == 1 ? lines / 4 * 4 : 0, block_steps = steps / 4 * 4;
  for (std::int64_t i = 0; i < block_lines; i += 4)
    for (std::int64_t k = 0; k < block_steps; k += 4)
      transpose_block(from + i * line_stride + k, line_stride, to + k * width + i, width);
  for (std::int64_t i = 0; i < lines; ++i)
    for (std::int64_t k = i < block_lines ? block_steps : 0; k < steps; ++k)
      to[k * width + i] = loaded<T>(from + i * line_stride + k * step_stride);
}

}  // namespace apsis::detail
