#include "apsis/array/fft.hpp"

#include <algorithm>
#include <string>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis::fft {
namespace {

using namespace detail::arrays;
using OneAxis = Array (*)(const Array&, const FFTOptions&, Loc);

/// The axes and, if they are given, their lengths.
struct Plan {
  Dims axes;
  std::optional<Dims> s;
  Norm norm;
  FFTOptions at(std::size_t i) const {
    FFTOptions o{.axis = axes[i], .norm = norm};
    if (s) o.n = (*s)[i];
    return o;
  }
};

Plan plan_of(const char* where, const Array& a, const FFTNOptions& o, Loc loc) {
  if (a.is_empty()) fail(messages::array_empty, {where}, loc);
  Plan plan{o.axes.list, o.s, o.norm};
  if (o.axes.all) {
    const std::size_t rank = a.shape().size(), count = o.s ? std::min(o.s->size(), rank) : rank;
    for (std::size_t i = rank - count; i < rank; ++i) plan.axes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::int64_t& axis : plan.axes) axis = checked_axis(where, axis, a);
  Dims sorted = plan.axes;
  std::ranges::sort(sorted);
  if (sorted.empty() || std::ranges::adjacent_find(sorted) != sorted.end() ||
      (plan.s && plan.s->size() != plan.axes.size()))
    fail(messages::fft_axes,
         {where, plan.s ? to_string(*plan.s) : "of the array", to_string(plan.axes), to_string(a.aval())},
         loc);
  return plan;
}

/// The first `count` axes, from the last one on.
Array along(Array x, const Plan& plan, std::size_t count, OneAxis transform, Loc loc) {
  for (std::size_t i = count; i-- > 0;) x = transform(x, plan.at(i), loc);
  return x;
}

Array complex_n(const char* where, const Array& a, const FFTNOptions& options, OneAxis transform, Loc loc) {
  const LocScope place(loc);
  const Plan plan = plan_of(where, a, options, loc);
  return along(a, plan, plan.axes.size(), transform, loc);
}
Array real_to_complex_n(const char* where, const Array& a, const FFTNOptions& options, Loc loc) {
  const LocScope place(loc);
  const Plan plan = plan_of(where, a, options, loc);
  const std::size_t last = plan.axes.size() - 1;
  return along(rfft(a, plan.at(last), loc), plan, last, fft, loc);
}
Array complex_to_real_n(const char* where, const Array& a, const FFTNOptions& options, Loc loc) {
  const LocScope place(loc);
  const Plan plan = plan_of(where, a, options, loc);
  const std::size_t last = plan.axes.size() - 1;
  return irfft(along(a, plan, last, ifft, loc), plan.at(last), loc);
}

FFTNOptions two(const char* where, const FFT2Options& o, Loc loc) {
  if (o.axes.size() != 2) fail(messages::fft_two_axes, {where, to_string(o.axes)}, loc);
  return {.s = o.s, .axes = Axes(o.axes), .norm = o.norm};
}

/// 0 … count - 1, from `half` on less n, over n·d.
Array frequencies(const char* name, std::int64_t n, std::int64_t count, std::int64_t half, const Array& d,
                  Loc loc) {
  const LocScope place(loc);
  if (n < 1) fail(messages::fft_points, {name, std::to_string(n)}, loc);
  check_rank(name, d.ndim() == 0, "no axes", d);
  const Array k = arange(count), turns = where(k < half, k, k - n);
  // 16 bits do not hold large n.
  const Dtype dtype = inexact(d.dtype());
  const bool narrow = item_size(dtype) == 2;
  const Array step = narrow ? astype(d, f32) : d;
  const Array found = astype(turns, inexact(step.dtype())) / (step * static_cast<double>(n));
  return narrow ? astype(found, dtype) : found;
}

Array shifted(const char* where, const Array& x, const Axes& axes, bool back, Loc loc) {
  const LocScope place(loc);
  Array out = x;
  for (std::int64_t axis : checked_axes(where, axes, x)) {
    const std::int64_t half = x.dim(axis) / 2;
    out = roll(out, back ? -half : half, axis, loc);
  }
  return out;
}

}  // namespace

Array fftn(const Array& a, const FFTNOptions& options, Loc loc) {
  return complex_n("fftn", a, options, fft, loc);
}
Array ifftn(const Array& a, const FFTNOptions& options, Loc loc) {
  return complex_n("ifftn", a, options, ifft, loc);
}
Array rfftn(const Array& a, const FFTNOptions& options, Loc loc) {
  return real_to_complex_n("rfftn", a, options, loc);
}
Array irfftn(const Array& a, const FFTNOptions& options, Loc loc) {
  return complex_to_real_n("irfftn", a, options, loc);
}

Array fft2(const Array& a, const FFT2Options& options, Loc loc) {
  return complex_n("fft2", a, two("fft2", options, loc), fft, loc);
}
Array ifft2(const Array& a, const FFT2Options& options, Loc loc) {
  return complex_n("ifft2", a, two("ifft2", options, loc), ifft, loc);
}
Array rfft2(const Array& a, const FFT2Options& options, Loc loc) {
  return real_to_complex_n("rfft2", a, two("rfft2", options, loc), loc);
}
Array irfft2(const Array& a, const FFT2Options& options, Loc loc) {
  return complex_to_real_n("irfft2", a, two("irfft2", options, loc), loc);
}

Array fftfreq(std::int64_t n, const Array& d, Loc loc) {
  return frequencies("fftfreq", n, n, (n + 1) / 2, d, loc);
}
Array rfftfreq(std::int64_t n, const Array& d, Loc loc) {
  return frequencies("rfftfreq", n, n / 2 + 1, n / 2 + 1, d, loc);
}

Array fftshift(const Array& x, const Axes& axes, Loc loc) { return shifted("fftshift", x, axes, false, loc); }
Array ifftshift(const Array& x, const Axes& axes, Loc loc) {
  return shifted("ifftshift", x, axes, true, loc);
}

}  // namespace apsis::fft
