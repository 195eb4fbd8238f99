#include "ops/fft_kernel.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "ops/each_matrix.hpp"
#include "ops/fft_transform.hpp"
#include "ops/kept_scratch.hpp"

namespace apsis::detail {
namespace {

struct FftScratch;

/// Lines side by side in an array: elements of a line are `row` apart, lines `line`.
struct Strides {
  std::int64_t row, line;
};

/// A block of lines of real or complex numbers (`parts` 1 or 2), each at `part`, to a plane of `columns`
/// numbers a row, or from it. Lines that are missing are zero.
template <class T>
void read_plane(const T* from, int parts, Strides strides, std::int64_t rows, std::int64_t lines,
                std::int64_t columns, T* plane) {
  for (std::int64_t r = 0; r < rows; ++r, plane += columns) {
    const T* const row = from + parts * r * strides.row;
    for (std::int64_t c = 0; c < lines; ++c) plane[c] = row[parts * c * strides.line];
    std::fill(plane + lines, plane + columns, T{});
  }
}
template <class T>
void write_plane(const T* plane, T scale, int parts, Strides strides, std::int64_t rows, std::int64_t lines,
                 std::int64_t columns, T* to) {
  for (std::int64_t r = 0; r < rows; ++r, plane += columns) {
    T* const row = to + parts * r * strides.row;
    for (std::int64_t c = 0; c < lines; ++c) row[parts * c * strides.line] = plane[c] * scale;
  }
}

/// What all lines of a call share.
template <class T>
struct LinePlan {
  explicit LinePlan(const FftParams& params)
      : halved(params.kind != FftKind::Complex && params.length % 2 == 0),
        plan(fft_plan<T>(halved ? params.length / 2 : params.length)),
        half_turns(halved ? fft_half_turns<T>(params.length) : nullptr) {}

  bool halved;
  std::shared_ptr<const FftPlan<T>> plan;
  std::shared_ptr<const std::vector<T>> half_turns;
};

template <class T>
class Lines {
 public:
  Lines(const FftParams& params, const LinePlan<T>& shared, std::int64_t outer, std::int64_t inner)
      : p_(params),
        outer_(outer),
        inner_(inner),
        halved_(shared.halved),
        plan_(shared.plan.get()),
        half_turns_(shared.half_turns.get()),
        scale_(static_cast<T>(params.scale)) {}

  void run(const T* from, T* to) {
    const std::int64_t beside = inner_ == 1 ? outer_ : inner_;
    two_passes_ = (p_.kind == FftKind::Complex || halved_) && inner_ == 1 ? two_pass_code(*plan_) : nullptr;
    alone_ = inner_ == 1 && (2 * outer_ < side_by_side || (two_passes_ && outer_ >= two_passes_->lines) ||
                             !better_together());
    columns_ = alone_ || 4 * beside < side_by_side ? 1 : side_by_side;
    // More than the caches hold together with what is read; every line of it at a line of the cache.
    constexpr std::int64_t many_bytes = 8 << 20;
    streams_ = 2 * outer_ * p_.length * std::int64_t{sizeof(T)} >= many_bytes &&
               (plan_->work_length() <= 4096 || plan_->first_half > 0) &&
               2 * p_.length * sizeof(T) % 64 == 0 && reinterpret_cast<std::uintptr_t>(to) % 64 == 0;
    const auto part = [&](std::int64_t first, std::int64_t end) { Lines(*this).run(from, to, first, end); };
    if (inner_ == 1)
      each_range(outer_, alone_ && two_passes_ ? two_passes_->lines : columns_, operations(), part);
    else
      each_range(outer_ * blocks(), 1, operations() * static_cast<double>(std::min(columns_, inner_)), part);
  }

 private:
  static constexpr std::int64_t side_by_side = fft_columns<T>;

  std::int64_t half() const { return p_.length / 2; }
  bool of_real() const { return p_.kind == FftKind::RealToComplex || p_.kind == FftKind::RealToWhole; }
  /// Of lines that are apart: how many of them lie before the next ones.
  std::int64_t blocks() const { return (inner_ + columns_ - 1) / columns_; }

  /// What a line takes, about.
  double operations() const {
    const auto n = static_cast<double>(plan_->work_length());
    return (plan_->convolution ? 12 : 5) * n * std::log2(n + 1);
  }

  /// Lines first, …, end - 1, or blocks of those that are apart.
  void run(const T* from, T* to, std::int64_t first, std::int64_t end) {
    const std::int64_t in_rows = p_.kind == FftKind::ComplexToReal ? half() + 1 : p_.length,
                       out_rows = p_.kind == FftKind::RealToComplex ? half() + 1 : p_.length;
    const int in_parts = of_real() ? 1 : 2, out_parts = p_.kind == FftKind::ComplexToReal ? 1 : 2;
    const std::int64_t plane = std::max({FftTransform<T>::room(*plan_, columns_), (half() + 1) * columns_,
                                         two_passes_ ? two_passes_->lines * half() : 0});
    if (p_.kind == FftKind::Complex)
      through_result_ = alone_ && (!streams_ || plan_->first_half > 0) &&
                        FftTransform<T>(*plan_, 1).may_use_result(from == to);
    else
      through_result_ = alone_ && p_.kind == FftKind::RealToWhole && halved_ &&
                        FftTransform<T>::room(*plan_, 1) <= p_.length;
    const KeptScratch<FftScratch> scratch(static_cast<std::size_t>((through_result_ ? 2 : 4) * plane) *
                                          sizeof(T));
    T* const memory = static_cast<T*>(scratch.data());
    data_ = {memory, memory + plane};
    if (!through_result_) other_ = {memory + 2 * plane, memory + 3 * plane};
    const auto line_in = [&](std::int64_t o) { return from + o * in_parts * in_rows; };
    const auto line_out = [&](std::int64_t o) { return to + o * out_parts * out_rows; };
    if (alone_) {
      const std::int64_t done = first + short_lines(line_in(first), line_out(first), end - first);
      for (std::int64_t o = done; o < end; ++o) one(line_in(o), line_out(o));
    } else if (inner_ == 1) {
      for (std::int64_t o = first; o < end; o += columns_)
        block(line_in(o), {1, in_rows}, line_out(o), {1, out_rows}, std::min(columns_, end - o));
    } else {
      for (std::int64_t number = first; number < end; ++number) {
        const std::int64_t o = number / blocks(), i = number % blocks() * columns_;
        block(from + in_parts * (o * in_rows * inner_ + i), {inner_, 1},
              to + out_parts * (o * out_rows * inner_ + i), {inner_, 1}, std::min(columns_, inner_ - i));
      }
    }
    if (streams_) _mm_sfence();
  }

  /// Whether lines that are apart gain from being brought side by side: those that do not fill registers.
  bool better_together() const {
    if (plan_->convolution) return plan_->length < 512;
    if (plan_->length >= 4096) return false;
    return std::ranges::any_of(plan_->passes, [](const auto& pass) {
      const auto run = planes_code<T>(pass, 1);
      return run == code_of<T>(pass).first.back() || run == code_of<T>(pass).middle.back();
    });
  }

  /// How many lines of `all`, from the first on, are done by code of their length.
  std::int64_t short_lines(const T* from, T* to, std::int64_t all) {
    if (!two_passes_) return 0;
    const std::int64_t count = all - all % two_passes_->lines;
    const FftTurns<T> turns = plan_->passes[1].turns;
    if (p_.kind == FftKind::Complex) {
      if (count > 0) two_passes_->run[p_.inverse][streams_]({from, to, count, turns, scale_});
      return count;
    }
    // Of real numbers the complex lines are pairs of neighbours.
    const std::int64_t spectrum = 2 * (p_.kind == FftKind::RealToWhole ? p_.length : half() + 1),
                       step = two_passes_->lines;
    for (std::int64_t o = 0; o < count; o += step) {
      if (of_real())
        two_passes_->to_planes({.from = from + o * p_.length,
                                .to = data_.re,
                                .count = step,
                                .turns = turns,
                                .scale = T(1),
                                .to_imaginary = data_.im});
      for (std::int64_t line = 0; line < step; ++line) {
        const Planes<T> z{data_.re + line * half(), data_.im + line * half()};
        if (of_real())
          store_line(z, to + (o + line) * spectrum);
        else
          load_half_line(from + (o + line) * spectrum, z);
      }
      if (p_.kind == FftKind::ComplexToReal)
        two_passes_->from_planes({.from = data_.im,
                                  .to = to + o * p_.length,
                                  .count = step,
                                  .turns = turns,
                                  .scale = scale_,
                                  .from_imaginary = data_.re});
    }
    return count;
  }

  /// Of a transform from complex numbers to complex numbers: the inverse one is that of parts swapped.
  LineEnds<T> complex_ends(const T* from, T* to) const {
    return {.from = from, .to = to, .from_swapped = p_.inverse, .to_swapped = p_.inverse, .scale = scale_};
  }

  void one(const T* from, T* to) {
    const FftTransform<T> transform(*plan_, 1);
    if (p_.kind == FftKind::Complex) {
      const Planes<T> other = through_result_ ? Planes<T>{to, to + p_.length} : other_;
      LineEnds<T> ends = complex_ends(from, to);
      ends.streams = streams_;
      ends.ahead = outer_ > 1 ? p_.length : 0;
      transform.run(data_, other, ends);
    } else if (halved_ && of_real()) {
      const Planes<T> other = through_result_ ? Planes<T>{to, to + p_.length} : other_;
      Planes<T> z = transform.run(data_, other, {.from = from});
      if (z.re == to) {  // what is to be written
        std::copy_n(z.re, half(), data_.re);
        std::copy_n(z.im, half(), data_.im);
        z = data_;
      }
      store_line(z, to);
    } else if (halved_) {
      load_half_line(from, data_);
      transform.run(data_.swapped(), other_.swapped(), {.to = to, .to_swapped = true, .scale = scale_});
    } else {
      block(from, {1, 1}, to, {1, 1}, 1);
    }
  }

  void block(const T* from, Strides in, T* to, Strides out, std::int64_t lines) {
    const std::int64_t n = p_.length, c = columns_;
    const FftTransform<T> transform(*plan_, c);
    if (p_.kind == FftKind::Complex && lines == c && in.line == 1 && out.line == 1 &&
        transform.takes_rows()) {
      LineEnds<T> ends = complex_ends(from, to);
      ends.row = in.row;
      transform.run(data_, other_, ends);
    } else if (p_.kind == FftKind::Complex) {
      const Planes<T> planes = p_.inverse ? data_.swapped() : data_;
      read_plane(from, 2, in, n, lines, c, planes.re);
      read_plane(from + 1, 2, in, n, lines, c, planes.im);
      Planes<T> result = transform.run(data_, other_);
      if (p_.inverse) result = result.swapped();
      write_plane(result.re, scale_, 2, out, n, lines, c, to);
      write_plane(result.im, scale_, 2, out, n, lines, c, to + 1);
    } else if (of_real()) {
      if (halved_) {
        read_plane(from, 1, {2 * in.row, in.line}, half(), lines, c, data_.re);
        read_plane(from + in.row, 1, {2 * in.row, in.line}, half(), lines, c, data_.im);
      } else {
        read_plane(from, 1, in, n, lines, c, data_.re);
        std::fill(data_.im, data_.im + n * c, T{});
      }
      store_half_spectrum(transform.run(data_, other_), to, out, lines);
      if (p_.kind == FftKind::RealToWhole) mirror(to, out, lines);
    } else {
      load_half_spectrum(from, in, lines);
      const Planes<T> result = transform.run(data_.swapped(), other_.swapped()).swapped();
      if (halved_) {
        write_plane(result.re, scale_, 1, {2 * out.row, out.line}, half(), lines, c, to);
        write_plane(result.im, scale_, 1, {2 * out.row, out.line}, half(), lines, c, to + out.row);
      } else {
        write_plane(result.re, scale_, 1, out, n, lines, c, to);
      }
    }
  }

  /// The half spectrum's elements but the first and the last, from z.
  FftHalf<T> half_from(Planes<T> z) const {
    const T factor = inner_scale() / 2;
    return {.z = z,
            .from = nullptr,
            .to = nullptr,
            .pairs = half(),
            .turns_re = half_turns_->data(),
            .turns_im = half_turns_->data() + half() + 1,
            .factor = factor,
            .imaginary_factor = (p_.inverse ? T(-1) : T(1)) * factor};
  }
  /// What the inverse transform takes to pairs of elements, to z.
  FftHalf<T> half_to(Planes<T> z) const {
    FftHalf<T> call = half_from(z);
    call.factor = spectrum_factor();
    call.imaginary_factor = (p_.inverse ? T(1) : T(-1)) * call.factor;
    return call;
  }
  /// The second half of spectra of real numbers, of the first one.
  void mirror(T* to, Strides out, std::int64_t lines) const {
    for (std::int64_t k = 1; 2 * k < p_.length; ++k)
      for (std::int64_t c = 0; c < lines; ++c) {
        const T* const z = to + 2 * (k * out.row + c * out.line);
        T* const image = to + 2 * ((p_.length - k) * out.row + c * out.line);
        image[0] = z[0];
        image[1] = -z[1];
      }
  }
  /// One line of even n, which lies together.
  void store_line(Planes<T> z, T* to) const {
    store_half_line(z, to);
    if (p_.kind == FftKind::RealToWhole) mirror(to, {1, 0}, 1);
  }
  void store_half_line(Planes<T> z, T* to) const {
    const std::int64_t m = half();
    to[0] = (z.re[0] + z.im[0]) * scale_;
    to[2 * m] = (z.re[0] - z.im[0]) * scale_;
    to[1] = to[2 * m + 1] = 0;
    FftHalf<T> call = half_from(z);
    call.to = to;
    fft_codes<T>().store_half(call);
  }
  void load_half_line(const T* from, Planes<T> z) const {
    const std::int64_t m = half();
    z.re[0] = from[0] + from[2 * m];
    z.im[0] = from[0] - from[2 * m];
    FftHalf<T> call = half_to(z);
    call.from = from;
    fft_codes<T>().load_half(call);
  }
  /// Of all elements of the spectrum but the first and, of even n, the last: what is written, what is read.
  T inner_scale() const { return p_.doubled ? 2 * scale_ : scale_; }
  T spectrum_factor() const { return p_.doubled ? T(1) : T(0.5); }

  /// From z. Of even n it is the transform of pairs of elements.
  void store_half_spectrum(const Planes<T> z, T* to, Strides out, std::int64_t lines) const {
    const std::int64_t m = half(), columns = columns_;
    const Planes<T> y = !halved_ ? z : z.re == data_.re ? other_ : data_;
    if (halved_ && columns == 1) {
      store_half_line(z, y.re);  // both planes of y are one piece of memory
      for (std::int64_t k = 0; k <= m; ++k)
        for (int part : {0, 1}) to[2 * k * out.row + part] = y.re[2 * k + part];
      return;
    }
    if (halved_) {
      for (std::int64_t c = 0; c < columns; ++c) {
        y.re[c] = (z.re[c] + z.im[c]) * scale_;
        y.re[m * columns + c] = (z.re[c] - z.im[c]) * scale_;
        y.im[c] = y.im[m * columns + c] = 0;
      }
      FftHalf<T> call = half_from(z);
      call.planes = y;
      fft_codes<T>().store_half_columns(call);
    } else {
      const T inner = inner_scale(), sign = p_.inverse ? T(-1) : T(1);
      for (std::int64_t i = 0; i < (m + 1) * columns; ++i) {
        const T factor = i < columns ? scale_ : inner;
        y.re[i] *= factor;
        y.im[i] = i < columns ? 0 : y.im[i] * (sign * factor);
      }
    }
    write_plane(y.re, T(1), 2, out, m + 1, lines, columns, to);
    write_plane(y.im, T(1), 2, out, m + 1, lines, columns, to + 1);
  }

  /// To `data_`: what the inverse transform takes to the lines, or to pairs of their elements.
  void load_half_spectrum(const T* from, Strides in, std::int64_t lines) const {
    const std::int64_t m = half(), columns = columns_;
    const Planes<T> y = halved_ ? other_ : data_, z = data_;
    if (halved_ && columns == 1) {
      for (std::int64_t k = 0; k <= m; ++k)
        for (int part : {0, 1}) y.re[2 * k + part] = from[2 * k * in.row + part];
      return load_half_line(y.re, z);
    }
    read_plane(from, 2, in, m + 1, lines, columns, y.re);
    read_plane(from + 1, 2, in, m + 1, lines, columns, y.im);
    if (halved_) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const T first = y.re[c], last = y.re[m * columns + c];
        z.re[c] = first + last;
        z.im[c] = first - last;
      }
      FftHalf<T> call = half_to(z);
      call.planes = y;
      return fft_codes<T>().load_half_columns(call);
    }
    // The other half is its mirror image.
    const T inner = spectrum_factor(), sign = p_.inverse ? T(1) : T(-1);
    std::fill(z.im, z.im + columns, T{});
    for (std::int64_t i = columns; i < (m + 1) * columns; ++i) {
      z.re[i] *= inner;
      z.im[i] *= sign * inner;
    }
    for (std::int64_t k = 1; k <= m; ++k)
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t i = k * columns + c, j = (p_.length - k) * columns + c;
        z.re[j] = z.re[i];
        z.im[j] = -z.im[i];
      }
  }

  const FftParams& p_;
  std::int64_t outer_, inner_, columns_ = 1;
  bool halved_, alone_ = false, streams_ = false;
  // Of one line: no planes but data_, as the others lie in the result or need not be.
  bool through_result_ = false;
  const FftPlan<T>* plan_;
  const std::vector<T>* half_turns_;
  const FftTwoPasses<T>* two_passes_ = nullptr;
  T scale_;
  Planes<T> data_{}, other_{};
};

}  // namespace

template <class T>
void fft_lines(const FftParams& params, std::int64_t outer, std::int64_t inner, const T* from, T* to) {
  if (outer == 0 || inner == 0) return;
  const LinePlan<T> shared(params);
  Lines<T>(params, shared, outer, inner).run(from, to);
}
template void fft_lines(const FftParams&, std::int64_t, std::int64_t, const float*, float*);
template void fft_lines(const FftParams&, std::int64_t, std::int64_t, const double*, double*);

}  // namespace apsis::detail
