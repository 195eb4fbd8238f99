#pragma once

// Transforms of planes: the passes of a plan, one after the other, in the widest registers that are filled.

#include <immintrin.h>

#include <algorithm>
#include <cmath>

#include "base/processor.hpp"
#include "ops/each_matrix.hpp"
#include "ops/fft_passes.hpp"
#include "ops/fft_plan.hpp"
#include "ops/kept_scratch.hpp"

namespace apsis::detail {

/// For this processor.
template <class T>
const FftCodes<T>& fft_codes() {
  static const FftCodes<T>& found = has_avx512() ? avx512_fft_codes<T>() : avx2_fft_codes<T>();
  return found;
}

template <class T>
void separate_parts(const T* from, std::int64_t count, Planes<T> to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to.re[i] = from[2 * i];
    to.im[i] = from[2 * i + 1];
  }
}
template <class T>
void join_parts(Planes<T> from, std::int64_t count, T scale, T* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[2 * i] = from.re[i] * scale;
    to[2 * i + 1] = from.im[i] * scale;
  }
}

/// The widest code that `count` elements side by side fill, if there is one.
template <class T>
typename FftCode<T>::Run widest_code(const typename FftCode<T>::Widths& widths, std::int64_t count) {
  for (std::size_t i = 0; i < fft_widths; ++i)
    if (widths[i] && count >= fft_codes<T>().lanes[i]) return widths[i];
  return nullptr;
}

template <class T>
const FftCode<T>& code_of(const typename FftPlan<T>::Pass& pass) {
  return fft_codes<T>().of_radix[pass.radix];
}

template <class T>
typename FftCode<T>::Run planes_code(const typename FftPlan<T>::Pass& pass, std::int64_t columns) {
  const FftCode<T>& code = code_of<T>(pass);
  if (pass.groups == 1) return widest_code<T>(code.first, pass.span * columns);
  if (pass.span * columns == 1)
    if (const auto run = widest_code<T>(code.last, pass.groups)) return run;
  return widest_code<T>(code.middle, pass.span * columns);
}

/// The code that brings lines of this length from array to array, if it is one of the short ones.
template <class T>
const FftTwoPasses<T>* two_pass_code(const FftPlan<T>& plan) {
  if (plan.convolution || plan.passes.size() != 2) return nullptr;
  for (const FftTwoPasses<T>& code : fft_codes<T>().two_passes)
    if (fft_radices[plan.passes[0].radix] == code.first && fft_radices[plan.passes[1].radix] == code.second)
      return &code;
  return nullptr;
}

/// One line between an array of complex numbers and planes, or another array, or lines side by side from
/// array to array. An end without an array is the planes' own: `data` at the beginning.
template <class T>
struct LineEnds {
  const T* from = nullptr;
  T* to = nullptr;
  bool from_swapped = false, to_swapped = false;  ///< imaginary parts come first in the array
  T scale = 1;                                    ///< of what goes to `to`
  bool streams = false;                           ///< to `to`, past the cache
  std::int64_t ahead = 0;  ///< elements until the next line of `from`, if it is read next
  std::int64_t row = 0;    ///< elements from row to row of lines side by side
};

/// Transforms of `columns` lines side by side: rows of planes have a number of each.
template <class T>
class FftTransform {
 public:
  FftTransform(const FftPlan<T>& plan, std::int64_t columns) : plan_(plan), columns_(columns) {}

  Planes<T> run(Planes<T> data, Planes<T> other, const LineEnds<T>& ends = {}) const {
    if (plan_.convolution) return convolve(data, other, ends);
    if (in_halves()) return run_halves(data, other, ends);
    const auto& passes = plan_.passes;
    const std::size_t count = passes.size();
    const bool in_rows = ends.row > 0;
    const auto from_array = ends.from && count > 1 ? from_array_code() : nullptr;
    const auto to_array = ends.to && count > 1 ? in_rows ? to_rows_code() : to_array_code() : nullptr;
    // The array may lie where `other` does: what the last pass reads is not there.
    if (to_array && count % 2 == 0 && ends.from) std::swap(data, other);
    if (ends.from && !from_array)
      separate_parts(ends.from, plan_.length, swapped_if(ends.from_swapped, data));
    for (std::size_t i = 0; i < count; ++i) {
      const auto& pass = passes[i];
      FftPass<T> call = planes_pass(pass, pass.groups / pass.blocks, pass.span * columns_, data, other);
      auto run = planes_code<T>(pass, columns_);
      if (i == 0 && from_array) {
        run = from_array;
        read_array(call, ends);
        call.ahead = ends.ahead;
        if (in_rows) read_rows(call, columns_, ends.row);
      } else if (i == count - 1 && to_array) {
        run = to_array;
        write_array(call, ends);
        if (in_rows) call.to_steps = {ends.row * call.groups, ends.row, ends.row * pass.groups};
        call.streams = ends.streams && pass.groups % most_lanes == 0;
      }
      run(call);
      std::swap(data, other);
    }
    if (ends.to && !to_array)
      join_parts(swapped_if(ends.to_swapped, data), plan_.length, ends.scale, ends.to);
    return data;
  }

  /// Whether a line goes from array to array so that `other` may lie in the array that is written, or is not
  /// used at all; `in_place`: which is also the one that is read.
  bool may_use_result(bool in_place) const {
    if (in_halves()) return true;
    const std::size_t passes = plan_.passes.size();
    if (plan_.convolution || passes < 2 || !to_array_code()) return false;
    return !in_place || (passes % 2 == 0 && from_array_code());
  }

  /// Whether lines that are side by side in rows of arrays go from array to array.
  bool takes_rows() const {
    return columns_ == fft_columns<T> && !plan_.convolution && plan_.passes.size() > 1 && from_array_code() &&
           to_rows_code();
  }

  /// Elements that planes have room for.
  static std::int64_t room(const FftPlan<T>& plan, std::int64_t columns) {
    const FftPlan<T>& passes = plan.convolution ? *plan.convolution : plan;
    const FftTransform transform(passes, columns);
    return transform.in_halves() ? Halves(passes).room() : passes.length * columns;
  }

 private:
  using Pass = typename FftPlan<T>::Pass;
  static constexpr std::int64_t most_lanes = 64 / sizeof(T);

  /// A long line in two halves: its elements are a matrix, row after row. The passes of the first half
  /// transform its columns, some side by side; those of the second half the rows. What a few lines need on
  /// the way stays in a cache, so that the line goes through memory twice.
  struct Halves {
    static constexpr std::int64_t few = 2 * fft_columns<T>;
    explicit Halves(const FftPlan<T>& plan)
        : rows(plan.passes[plan.first_half].groups),
          columns(plan.length / rows),
          row(columns + most_lanes),
          last_groups(plan.passes[plan.first_half - 1].groups),
          gap(last_groups % fft_columns<T> == 0 ? most_lanes : 0),
          at_once(gap > 0 && last_groups % few != 0 ? fft_columns<T> : few) {}
    std::int64_t rows, columns;
    // Between the halves rows that the last pass writes at once are not a power of two apart, which would
    // push each other out of the cache.
    std::int64_t row, last_groups, gap;
    std::int64_t at_once;  ///< rows that no gap divides
    std::int64_t at(std::int64_t r) const { return r * row + r / last_groups * gap; }
    std::int64_t room() const { return at(rows); }
  };

  bool in_halves() const { return columns_ == 1 && plan_.first_half > 0; }
  static Planes<T> swapped_if(bool swapped, Planes<T> planes) { return swapped ? planes.swapped() : planes; }
  typename FftCode<T>::Run from_array_code() const {
    const Pass& pass = plan_.passes.front();
    return widest_code<T>(code_of<T>(pass).first_from_complex, columns_ > 1 ? columns_ : pass.span);
  }
  typename FftCode<T>::Run to_array_code() const {
    return widest_code<T>(code_of<T>(plan_.passes.back()).last_to_complex, plan_.passes.back().groups);
  }
  typename FftCode<T>::Run to_rows_code() const {
    return widest_code<T>(code_of<T>(plan_.passes.back()).middle_to_complex, columns_);
  }

  /// Between planes, with so many groups in each block, one after the other.
  static FftPass<T> planes_pass(const Pass& pass, std::int64_t groups, std::int64_t span, Planes<T> from,
                                Planes<T> to) {
    const std::int64_t all = fft_radices[pass.radix] * span;
    return {.from = {from.re, from.im},
            .to = to,
            .blocks = pass.blocks,
            .groups = groups,
            .span = span,
            .from_steps = {groups * all, all, span},
            .to_steps = {groups * span, span, pass.blocks * groups * span},
            .turns = pass.turns};
  }
  static void read_array(FftPass<T>& call, const LineEnds<T>& ends) {
    call.from_complex = ends.from;
    call.swapped = ends.from_swapped;
  }
  static void write_array(FftPass<T>& call, const LineEnds<T>& ends) {
    call.to_complex = ends.to;
    call.swapped = ends.to_swapped;
    call.scale = ends.scale;
  }
  /// The first pass, of `columns` elements of each row.
  static void read_rows(FftPass<T>& call, std::int64_t columns, std::int64_t row) {
    call.blocks = call.span / columns;
    call.from_steps = {row, 0, row * call.blocks};
    call.to_steps = {columns, 0, call.span};
    call.span = columns;
  }

  Planes<T> run_halves(Planes<T> data, Planes<T> other, const LineEnds<T>& ends) const {
    const Halves h(plan_);
    const Planes<T> middle = ends.from && ends.to ? data : other;
    // Lines of a batch come from memory, which gives long pieces of rows sooner than short ones.
    constexpr std::int64_t bytes = 128 << 10;
    const std::int64_t many = bytes / (2 * std::int64_t{sizeof(T)} * h.rows) / h.few * h.few;
    each_block(h.columns, ends.ahead > 0 ? std::max(h.few, many) : h.few, h.rows, plan_.first_half,
               [&](std::int64_t column, std::int64_t width, Planes<T> block, Planes<T> next) {
                 transform_columns(h, column, width, data, ends, middle, block, next);
               });
    each_block(h.rows, h.at_once, h.columns, plan_.passes.size() - plan_.first_half,
               [&](std::int64_t row, std::int64_t count, Planes<T> block, Planes<T> next) {
                 transform_rows(h, row, count, middle, ends, data, block, next);
               });
    return data;
  }

  /// Calls run(i, width, block, next) for lines i, i + 1 … below `count`, about `at_once` of them: some at
  /// once where that is worth threads. `block` and `next` are planes that have room for the lines, of
  /// `length` elements.
  template <class Run>
  static void each_block(std::int64_t count, std::int64_t at_once, std::int64_t length, std::size_t passes,
                         const Run& run) {
    const std::int64_t width = std::min(count, at_once), blocks = count / width,
                       widest = width + count % width, plane = widest * length + most_lanes;
    const double operations = 20.0 * static_cast<double>(passes) * static_cast<double>(width * length);
    each_range(blocks, 1, operations, [&](std::int64_t first, std::int64_t end) {
      const KeptScratch<FftTransform> scratch(static_cast<std::size_t>(4 * plane) * sizeof(T));
      T* const memory = static_cast<T*>(scratch.data());
      for (std::int64_t i = first; i < end; ++i)
        run(i * width, i + 1 == blocks ? widest : width, {memory, memory + plane},
            {memory + 2 * plane, memory + 3 * plane});
    });
  }

  void transform_columns(const Halves& h, std::int64_t column, std::int64_t width, Planes<T> data,
                         const LineEnds<T>& ends, Planes<T> middle, Planes<T> block, Planes<T> next) const {
    for (std::size_t i = 0; i < plan_.first_half; ++i) {
      const Pass& pass = plan_.passes[i];
      FftPass<T> call = planes_pass(pass, pass.groups, pass.span / h.columns * width, block, next);
      auto run = widest_code<T>(code_of<T>(pass).middle, call.span);
      if (i == 0) {
        read_rows(call, width, h.columns);
        if (ends.from) {
          read_array(call, ends);
          call.from_complex += 2 * column;
          call.ahead = width;
        } else {
          call.from = {data.re + column, data.im + column};
        }
        run = widest_code<T>(ends.from ? code_of<T>(pass).first_from_complex : code_of<T>(pass).first, width);
      } else if (i + 1 == plan_.first_half) {
        call.to = {middle.re + column, middle.im + column};
        call.to_steps = {0, h.row, h.row * pass.groups + h.gap};
      }
      run(call);
      std::swap(block, next);
    }
  }

  void transform_rows(const Halves& h, std::int64_t row, std::int64_t count, Planes<T> middle,
                      const LineEnds<T>& ends, Planes<T> data, Planes<T> block, Planes<T> next) const {
    for (std::size_t i = plan_.first_half; i < plan_.passes.size(); ++i) {
      const Pass& pass = plan_.passes[i];
      FftPass<T> call = planes_pass(pass, count, pass.span, block, next);
      call.first_group = row;
      auto run = widest_code<T>(code_of<T>(pass).middle, pass.span);
      if (i == plan_.first_half) {
        call.from = {middle.re + h.at(row), middle.im + h.at(row)};
        call.from_steps.group = h.row;
      }
      if (i + 1 == plan_.passes.size()) {
        call.to_steps = {h.rows, 1, pass.groups};
        if (ends.to) {
          write_array(call, ends);
          call.to_complex += 2 * row;
          call.streams = ends.streams && h.rows % most_lanes == 0;
        } else {
          call.to = {data.re + row, data.im + row};
        }
        run = widest_code<T>(ends.to ? code_of<T>(pass).last_to_complex : code_of<T>(pass).last, count);
      }
      run(call);
      std::swap(block, next);
    }
    if (ends.streams) _mm_sfence();
  }

  /// One row of planes after the other: work(row's factors, element).
  void turn_rows(Planes<T> data, std::int64_t rows, const T* re, const T* im) const {
    for (std::int64_t k = 0; k < rows; ++k)
      for (std::int64_t c = k * columns_; c < (k + 1) * columns_; ++c) {
        const T x = data.re[c], y = data.im[c];
        data.re[c] = std::fma(-y, im[k], x * re[k]);
        data.im[c] = std::fma(y, re[k], x * im[k]);
      }
  }

  // Twice the transform of the longer length; the inverse one by exchanging real and imaginary parts.
  Planes<T> convolve(Planes<T> data, Planes<T> other, const LineEnds<T>& ends) const {
    const std::int64_t n = plan_.length, m = plan_.work_length();
    const T *const chirp = plan_.table.data(), *const spectrum = chirp + 2 * n;
    if (ends.from) separate_parts(ends.from, n, swapped_if(ends.from_swapped, data));
    turn_rows(data, n, chirp, chirp + n);
    std::fill(data.re + n * columns_, data.re + m * columns_, T{});
    std::fill(data.im + n * columns_, data.im + m * columns_, T{});
    const FftTransform longer(*plan_.convolution, columns_);
    Planes<T> result = longer.run(data, other);
    turn_rows(result, m, spectrum, spectrum + m);
    other = result.re == data.re ? other : data;
    result = longer.run(result.swapped(), other.swapped()).swapped();
    turn_rows(result, n, chirp, chirp + n);
    if (ends.to) join_parts(swapped_if(ends.to_swapped, result), n, ends.scale, ends.to);
    return result;
  }

  const FftPlan<T>& plan_;
  std::int64_t columns_;
};

}  // namespace apsis::detail
