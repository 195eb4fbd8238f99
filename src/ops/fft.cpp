// fft: the discrete Fourier transform along one axis, between complex and real arrays.

#include "apsis/ops/fft.hpp"

#include <cmath>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/complex.hpp"
#include "core/messages.hpp"
#include "ops/arguments.hpp"
#include "ops/fft_kernel.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"
#include "ops/operands.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

Dtype complex_of(Dtype real) { return real == Dtype::F64 ? Dtype::C128 : Dtype::C64; }
Dtype real_of(Dtype complex) { return complex == Dtype::C128 ? Dtype::F64 : Dtype::F32; }

void fft_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const auto& p = params.as<FftParams>();
  const Dtype dtype = in[0].dtype();
  Shape shape = in[0].shape();
  APSIS_ASSERT(p.axis >= 0 && static_cast<std::size_t>(p.axis) < shape.size() && p.length > 0);
  std::int64_t& size = shape[static_cast<std::size_t>(p.axis)];
  if (p.kind == FftKind::RealToComplex) {
    APSIS_ASSERT((dtype == Dtype::F32 || dtype == Dtype::F64) && size == p.length);
    size = p.length / 2 + 1;
    out.push_back(Aval(complex_of(dtype), shape));
  } else if (p.kind == FftKind::ComplexToReal) {
    APSIS_ASSERT(is_complex(dtype) && size == p.length / 2 + 1);
    size = p.length;
    out.push_back(Aval(real_of(dtype), shape));
  } else if (p.kind == FftKind::RealToWhole) {
    APSIS_ASSERT((dtype == Dtype::F32 || dtype == Dtype::F64) && size == p.length);
    out.push_back(Aval(complex_of(dtype), shape));
  } else {
    APSIS_ASSERT(p.kind == FftKind::Complex && is_complex(dtype) && size == p.length);
    out.push_back(Aval(dtype, shape));
  }
}

void fft_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<FftParams>();
  const Shape& shape = in[0].shape();
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (i != static_cast<std::size_t>(p.axis))
      (i < static_cast<std::size_t>(p.axis) ? outer : inner) *= shape[i];
  const auto run = [&]<class T>(T* to) {
    fft_lines<T>(p, outer, inner, static_cast<const T*>(data_of(in[0])), to);
  };
  if (item_size(in[0].dtype()) / (is_complex(in[0].dtype()) ? 2 : 1) == 8)
    run(mutable_data<double>(out[0]));
  else
    run(mutable_data<float>(out[0]));
}

/// The entries 0 … n / 2 of what has n along an axis, each with the conjugate of its mirror image.
Array folded(const Array& x, std::size_t axis) {
  const Shape& shape = x.shape();
  const std::int64_t n = shape[axis], mirrored = (n - 1) / 2;
  const Dims none = Dims::filled(shape.size(), 0);
  const auto with = [axis](Dims dims, std::int64_t size) {
    dims[axis] = size;
    return dims;
  };
  const Array half = lax::slice(x, none, with(shape, n / 2 + 1)),
              image = lax::reverse(lax::slice(x, with(none, n - mirrored), shape),
                                   {static_cast<std::int64_t>(axis)});
  return half + lax::pad(conj(image), literal(x.dtype(), 0), with(none, 1), with(none, n / 2 - mirrored));
}

void fft_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  FftParams p = r.params.as<FftParams>();
  Array cotangent = r.cotangents[0];
  if (p.kind == FftKind::RealToWhole) cotangent = folded(cotangent, static_cast<std::size_t>(p.axis));
  if (p.kind != FftKind::Complex)
    p.kind = p.kind == FftKind::ComplexToReal ? FftKind::RealToComplex : FftKind::ComplexToReal;
  r.out[0].add(bind1(fft_op, make_params(p), {cotangent}));
}

void fft_batch(const BatchRule& r) {
  FftParams p = r.params.as<FftParams>();
  if (r.axes[0] <= p.axis) ++p.axis;
  r.outs.push_back(bind1(fft_op, make_params(p), {r.operands[0]}));
  r.out_axes.push_back(r.axes[0]);
}

std::int64_t fft_operand_axis(const Params& params, std::span<const Aval>, const Aval&, std::size_t,
                              std::int64_t axis) {
  return axis == params.as<FftParams>().axis ? -1 : axis;
}

}  // namespace

const Op fft_op = {
    .name = "fft",
    .kind = OpKind::Index,
    .shape = fft_shape,
    .evaluate = fft_evaluate,
    .jvp = jvp_of_linear<fft_op>,
    .transpose = fft_transpose,
    .batch = fft_batch,
    .parse = parse_params<FftParams>,
    .operand_axis = fft_operand_axis,
};

}  // namespace apsis::detail

namespace apsis::fft {

namespace {

using namespace detail;

/// The axis with `size` entries: the first ones, or zeros behind them.
Array sized(const Array& a, int axis, std::int64_t size) {
  const std::int64_t have = a.dim(axis);
  if (have == size) return a;
  Dims low = Dims::filled(a.shape().size(), 0), high = low;
  high[static_cast<std::size_t>(axis)] = size - have;
  return lax::pad(a, literal(a.dtype(), 0), low, high);
}

Array complex_or_real(const char* name, const Array& a, bool complex, Loc loc) {
  Array x = is_complex(a.dtype()) ? a : floating(name, a, loc);
  if (x.dtype() == Dtype::F16 || x.dtype() == Dtype::BF16) x = lax::convert(x, Dtype::F32);
  if (complex && !is_complex(x.dtype())) x = lax::convert(x, complex_of(x.dtype()));
  return x.weak() ? lax::convert(x, x.dtype()) : x;
}

Array transformed(const char* name, FftKind kind, bool inverse, bool adds_factor, const Array& a,
                  const FFTOptions& options, Loc loc) {
  const LocScope place(loc);
  if (a.is_empty()) fail(messages::empty_array, {}, loc);
  FftParams p{.kind = kind, .inverse = inverse, .doubled = kind == FftKind::ComplexToReal};
  p.axis = checked_axis(name, options.axis, a.shape(), loc);
  const std::int64_t size = a.dim(p.axis);
  p.length = options.n.value_or(kind == FftKind::ComplexToReal ? 2 * (size - 1) : size);
  if (p.length < 1 && kind == FftKind::ComplexToReal && !options.n)
    fail(messages::fft_of_half,
         {name, to_string(a.aval()), size == 1 ? "one entry" : "no entry", std::to_string(p.axis)}, loc);
  if (p.length < 1)
    fail(messages::fft_length, {name, std::to_string(p.length), std::to_string(p.axis), to_string(a.aval())},
         loc);
  // Short transforms take less time than making the other half.
  if (kind == FftKind::Complex && !is_complex(a.dtype()) && p.length >= 16) p.kind = FftKind::RealToWhole;
  if (kind == FftKind::RealToComplex && is_complex(a.dtype()))
    fail(messages::fft_of_real, {name, to_string(a.aval()), name[0] == 'i' ? "ifft" : "fft"}, loc);
  const auto n = static_cast<double>(p.length);
  if (options.norm == Norm::Ortho)
    p.scale = 1 / std::sqrt(n);
  else if ((options.norm == Norm::Backward) == adds_factor)
    p.scale = 1 / n;
  const Array x = complex_or_real(name, a, p.kind == FftKind::Complex || kind == FftKind::ComplexToReal, loc);
  const std::int64_t entries = kind == FftKind::ComplexToReal ? p.length / 2 + 1 : p.length;
  return bind1(fft_op, make_params(p), {sized(x, p.axis, entries)}, loc);
}

}  // namespace

Array fft(const Array& a, const FFTOptions& options, Loc loc) {
  return transformed("fft", FftKind::Complex, false, false, a, options, loc);
}
Array ifft(const Array& a, const FFTOptions& options, Loc loc) {
  return transformed("ifft", FftKind::Complex, true, true, a, options, loc);
}
Array rfft(const Array& a, const FFTOptions& options, Loc loc) {
  return transformed("rfft", FftKind::RealToComplex, false, false, a, options, loc);
}
Array irfft(const Array& a, const FFTOptions& options, Loc loc) {
  return transformed("irfft", FftKind::ComplexToReal, true, true, a, options, loc);
}
Array hfft(const Array& a, const FFTOptions& options, Loc loc) {
  return transformed("hfft", FftKind::ComplexToReal, false, false, a, options, loc);
}
Array ihfft(const Array& a, const FFTOptions& options, Loc loc) {
  return transformed("ihfft", FftKind::RealToComplex, true, true, a, options, loc);
}

}  // namespace apsis::fft
