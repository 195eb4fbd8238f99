#pragma once

// Transforms of planes: the passes of a plan, one after the other, in the widest registers that are filled.

#include <algorithm>
#include <cmath>

#include "base/processor.hpp"
#include "ops/fft_passes.hpp"
#include "ops/fft_plan.hpp"

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
  std::int64_t row = 0;                           ///< numbers from row to row of lines side by side
};

/// Transforms of `columns` lines side by side: rows of planes have a number of each.
template <class T>
class FftTransform {
 public:
  FftTransform(const FftPlan<T>& plan, std::int64_t columns) : plan_(plan), columns_(columns) {}

  Planes<T> run(Planes<T> data, Planes<T> other, LineEnds<T> ends = {}) const {
    if (plan_.convolution) return convolve(data, other, ends);
    const auto& passes = plan_.passes;
    const std::size_t count = passes.size();
    const bool from_rows = ends.row > 0;
    const auto from_array =
        ends.from && count > 1 ? from_rows ? from_rows_code() : from_array_code() : nullptr;
    const auto to_array = ends.to && count > 1 ? from_rows ? to_rows_code() : to_array_code() : nullptr;
    // The array may lie where `other` does: what the last pass reads is not there.
    if (to_array && count % 2 == 0 && ends.from) std::swap(data, other);
    std::int64_t gap = 0, gap_groups = 0;  // of `data`
    if (ends.from && !from_array)
      separate_parts(ends.from, plan_.length, swapped_if(ends.from_swapped, data));
    for (std::size_t i = 0; i < count; ++i) {
      const auto& pass = passes[i];
      FftPass<T> call{
          {data.re, data.im}, other, pass.groups, pass.span * columns_, plan_.table.data() + pass.turns};
      auto run = planes_code<T>(pass, columns_);
      call.from_gap = gap;
      call.from_groups = gap_groups;
      gap = call.to_gap = has_gaps() && i + 1 < count ? gap_elements : 0;
      gap_groups = pass.groups;
      if (i == 0 && from_array) {
        run = from_array;
        call.from_complex = ends.from;
        call.swapped = ends.from_swapped;
        call.to = other;
      } else if (i == count - 1 && to_array) {
        run = to_array;
        call.to_complex = ends.to;
        call.swapped = ends.to_swapped;
        call.scale = ends.scale;
        constexpr std::int64_t most_lanes = 64 / sizeof(T);
        call.streams = ends.streams && pass.groups % most_lanes == 0;
      }
      call.row = ends.row;
      run(call);
      std::swap(data, other);
    }
    if (ends.to && !to_array)
      join_parts(swapped_if(ends.to_swapped, data), plan_.length, ends.scale, ends.to);
    return data;
  }

  /// Whether a line goes from array to array so that `other` may lie in the array that is written; `in_place`:
  /// which is also the one that is read.
  bool may_use_result(bool in_place) const {
    const std::size_t passes = plan_.passes.size();
    if (plan_.convolution || passes < 2 || !to_array_code() || has_gaps()) return false;
    return !in_place || (passes % 2 == 0 && from_array_code());
  }

  /// Whether lines that are side by side in rows of arrays go from array to array.
  bool takes_rows() const {
    return columns_ == fft_columns<T> && !plan_.convolution && plan_.passes.size() > 1 && from_rows_code() &&
           to_rows_code();
  }

  /// Elements that planes have room for.
  static std::int64_t room(const FftPlan<T>& plan, std::int64_t columns) {
    const FftPlan<T>& passes = plan.convolution ? *plan.convolution : plan;
    return passes.length * columns +
           (FftTransform(passes, columns).has_gaps() ? most_radix * gap_elements : 0);
  }

 private:
  /// Two lines of the cache, so that a butterfly's elements and both planes are apart.
  static constexpr std::int64_t gap_elements = 128 / sizeof(T), most_radix = 16;
  /// Of lengths with many factors of two: blocks that begin at the same place of a page push each other out
  /// of the caches. Registers never lie over a gap.
  bool has_gaps() const {
    const auto& passes = plan_.passes;
    if (columns_ > 1 || plan_.length < 4096 || plan_.length % 1024 != 0 || passes.size() < 2) return false;
    return passes[passes.size() - 2].groups % (64 / static_cast<std::int64_t>(sizeof(T))) == 0;
  }
  static Planes<T> swapped_if(bool swapped, Planes<T> planes) { return swapped ? planes.swapped() : planes; }
  typename FftCode<T>::Run from_array_code() const {
    return widest_code<T>(code_of<T>(plan_.passes.front()).first_from_complex, plan_.passes.front().span);
  }
  typename FftCode<T>::Run to_array_code() const {
    return widest_code<T>(code_of<T>(plan_.passes.back()).last_to_complex, plan_.passes.back().groups);
  }
  typename FftCode<T>::Run from_rows_code() const {
    return widest_code<T>(code_of<T>(plan_.passes.front()).first_from_rows, columns_);
  }
  typename FftCode<T>::Run to_rows_code() const {
    return widest_code<T>(code_of<T>(plan_.passes.back()).last_to_rows, columns_);
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
