// bitcast and reduce_precision.

#include "apsis/ops/bits.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "ops/bits_params.hpp"
#include "ops/elementwise.hpp"

namespace apsis::detail {
namespace {

constexpr DtypeSet bit_pattern_dtypes = integer_dtypes | float_dtypes;

void bitcast_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const Dtype to = params.as<BitcastParams>().dtype;
  if (in.size() != 1) fail(messages::wrong_operand_count, {"bitcast", "1", std::to_string(in.size())});
  check_dtype("bitcast", bit_pattern_dtypes, in[0]);
  APSIS_ASSERT(item_size(to) == item_size(in[0].dtype()) && contains(bit_pattern_dtypes, to));
  out.push_back(Aval(to, in[0].shape()));
}

void bitcast_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  std::memcpy(mutable_data<char>(out[0]), data_of(in[0]), in[0].aval().bytes());
}

void bitcast_emit(Emitter& e, const Params& params, std::span<const Value> in, std::span<Value> out) {
  const Dtype to = params.as<BitcastParams>().dtype;
  out[0] = in[0].dtype == to ? in[0] : e.bitcast(in[0], to);
}

/// Over the models of math, whose integers have the width of the floats. `half`: of f16, whose subnormal
/// numbers are normal ones of f32, with as many bits of fraction less as they have.
template <class M>
typename M::F reduced_precision(const M& m, typename M::F x, const ReducePrecisionParams& p, bool half) {
  using T = typename M::Scalar;
  using Integer = math::IntegerOf<T>;
  using Limits = std::numeric_limits<T>;
  constexpr int fraction = Limits::digits - 1, exponent = static_cast<int>(sizeof(T)) * 8 - 1 - fraction;
  auto y = x;
  if (p.mantissa_bits < fraction) {
    // Half of the last bit, less one unless that bit is set: ties go to the even one.
    const int dropped = fraction - static_cast<int>(p.mantissa_bits);
    const Integer last = Integer(1) << dropped;
    const auto bits = m.to_bits(x);
    const auto odd = m.and_(m.lshr(bits, dropped), m.integer(1));
    const auto rounded = m.add(bits, m.add(odd, m.integer(last / 2 - 1)));
    y = m.from_bits(m.and_(rounded, m.integer(~(last - 1))));
    if (half) {
      const int places = 14 + static_cast<int>(p.mantissa_bits);
      const auto fixed = m.mul(m.rint(m.mul(x, m.constant(std::ldexp(T(1), places)))),
                               m.constant(std::ldexp(T(1), -places)));
      y = m.select(m.lt(m.abs(x), m.constant(T(0x1p-14))), fixed, y);
    }
  }
  if (p.exponent_bits < exponent) {
    const int bias = (1 << (p.exponent_bits - 1)) - 1;
    const auto size = m.abs(y);
    const auto sign = m.and_(m.to_bits(y), m.integer(std::numeric_limits<Integer>::min()));
    const auto infinite = m.from_bits(m.or_(sign, m.to_bits(m.constant(Limits::infinity()))));
    const auto fits = m.lt(size, m.constant(std::ldexp(T(1), bias + 1)));
    const auto tiny = m.lt(size, m.constant(std::ldexp(T(1), 1 - bias)));
    y = m.select(tiny, m.from_bits(sign), m.select(fits, y, infinite));
  }
  return m.select(m.eq(x, x), y, x);
}

void reduce_precision_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<ReducePrecisionParams>();
  if (p.exponent_bits < 1 || p.mantissa_bits < 0)
    fail(messages::precision_bits, {std::to_string(p.exponent_bits), std::to_string(p.mantissa_bits)});
  out.push_back(elementwise_aval("reduce_precision", 1, float_dtypes, false, in));
}

/// f16 is computed in f32: as many bits of exponent as it has are all that it needs.
ReducePrecisionParams in_computed(Dtype dtype, ReducePrecisionParams p) {
  if (dtype == Dtype::F16 && p.exponent_bits >= 5) p.exponent_bits = 8;
  return p;
}

void reduce_precision_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto p = in_computed(in[0].dtype(), params.as<ReducePrecisionParams>());
  visit_dtype<float_dtypes>(in[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const math::ScalarModel<ComputeOf<T>> m;
    const auto* x = static_cast<const T*>(data_of(in[0]));
    auto* y = mutable_data<T>(out[0]);
    for (std::int64_t i = 0; i < out[0].size(); ++i)
      y[i] = static_cast<T>(
          reduced_precision(m, static_cast<ComputeOf<T>>(x[i]), p, std::is_same_v<T, float16>));
  });
}

void reduce_precision_emit(Emitter& e, const Params& params, std::span<const Value> in,
                           std::span<Value> out) {
  const Dtype dtype = in[0].dtype;
  const auto p = in_computed(dtype, params.as<ReducePrecisionParams>());
  visit_dtype<float_dtypes>(dtype, [&]<class T>(std::type_identity<T>) {
    using C = ComputeOf<T>;
    const bool same = std::is_same_v<T, C>;
    const Lane<C> x{same ? in[0] : e.convert(in[0], dtype_of<C>)};
    const Value y = reduced_precision(EmitterModel<C>{&e}, x, p, std::is_same_v<T, float16>).v;
    out[0] = same ? y : e.convert(y, dtype);
  });
}

void reduce_precision_jvp(const JvpRule& r) {
  bind(reduce_precision_op, r.params, r.primals, r.outs);
  r.out_tangents[0] = bind1(reduce_precision_op, r.params, {r.tangents[0]});
}

void reduce_precision_transpose(const TransposeRule& r) {
  if (!r.cotangents[0].is_empty()) r.out[0].add(bind1(reduce_precision_op, r.params, {r.cotangents[0]}));
}

}  // namespace

const Op bitcast_op = {
    .name = "bitcast",
    .kind = OpKind::Elementwise,
    .shape = bitcast_shape,
    .evaluate = bitcast_evaluate,
    .jvp = zero_jvp<bitcast_op>,
    .batch = elementwise_batch<bitcast_op>,
    .emit = bitcast_emit,
    .parse = parse_params<BitcastParams>,
};

const Op reduce_precision_op = {
    .name = "reduce_precision",
    .kind = OpKind::Elementwise,
    .shape = reduce_precision_shape,
    .evaluate = reduce_precision_evaluate,
    .jvp = reduce_precision_jvp,
    .transpose = reduce_precision_transpose,
    .batch = elementwise_batch<reduce_precision_op>,
    .emit = reduce_precision_emit,
    .parse = parse_params<ReducePrecisionParams>,
    .spreads_nan = true,
};

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

namespace {

/// Of the same width.
Array as_bits(const Array& x, Dtype dtype) {
  return x.dtype() == dtype ? x : bind1(bitcast_op, make_params(BitcastParams{dtype}), {x});
}

Dtype unsigned_of(std::size_t size) {
  return size == 1 ? Dtype::U8 : size == 2 ? Dtype::U16 : size == 4 ? Dtype::U32 : Dtype::U64;
}

/// How far the bits of each of `count` elements along the last of `shape` are shifted.
Array places(const Shape& shape, Dtype dtype, std::size_t width) {
  const int last = static_cast<int>(shape.size()) - 1;
  return lax::mul(lax::iota(dtype, shape, last), lax::full(shape, dtype, 8. * static_cast<double>(width)));
}

}  // namespace

Array bitcast_convert_type(const Array& x, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  const Array strong = x.weak() ? lax::convert(x, x.dtype()) : x;
  check_dtype("bitcast_convert_type", bit_pattern_dtypes, x.aval(), loc);
  check_dtype("bitcast_convert_type", bit_pattern_dtypes, Aval(dtype, x.shape()), loc);
  const std::size_t from = item_size(x.dtype()), to = item_size(dtype);
  if (from == to) return as_bits(strong, dtype);
  Shape shape = x.shape();
  if (from > to) {
    shape.push_back(static_cast<std::int64_t>(from / to));
    const Array whole = as_bits(strong, unsigned_of(from));
    const Array repeated = lax::broadcast_in_dim(whole, shape, Dims::counting(shape.size() - 1));
    const Array low = bind1(shift_right_logical_op, {}, {repeated, places(shape, whole.dtype(), to)});
    return as_bits(lax::convert(low, unsigned_of(to)), dtype);
  }
  const auto count = static_cast<std::int64_t>(to / from);
  if (shape.empty() || shape.back() != count)
    fail(messages::bitcast_sizes, {to_string(x.aval()), std::string(name_of(dtype)), std::to_string(count)},
         loc);
  const Array parts = lax::convert(as_bits(strong, unsigned_of(from)), unsigned_of(to));
  const Array apart = bind1(shift_left_op, {}, {parts, places(shape, parts.dtype(), from)});
  return as_bits(lax::reduce_sum(apart, {x.ndim() - 1}), dtype);
}

Array reduce_precision(const Array& x, int exponent_bits, int mantissa_bits, Loc loc) {
  return bind1(reduce_precision_op, make_params(ReducePrecisionParams{exponent_bits, mantissa_bits}), {x},
               loc);
}

}  // namespace apsis
