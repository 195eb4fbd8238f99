// convert: to another dtype, as JAX's astype. Floats to integers truncate and saturate, NaN becomes 0.

#include "apsis/ops/convert.hpp"

#include <optional>

#include "core/convert.hpp"
#include "ops/complex.hpp"
#include "ops/convert_params.hpp"
#include "ops/elementwise.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"

namespace apsis::detail {
namespace {

void convert_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const auto& p = params.as<ConvertParams>();
  out.push_back(Aval(p.dtype, in[0].shape(), p.weak));
}

void convert_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  convert_elements(in[0].dtype(), data_of(in[0]), out[0].dtype(), mutable_data<char>(out[0]),
                   static_cast<std::size_t>(in[0].size()));
}

// Clamped to the range before the machine converts, which leaves values outside undefined. The upper bound is
// the first power of two above the range, exact in every float; what reaches it is replaced afterwards.
template <class From, class To>
Value emit_saturating(Emitter& e, Value v) {
  const EmitterModel<From> from{&e};
  const EmitterModel<To> to{&e};
  Lane<From> x{v};
  Lane<From> low = from.constant(static_cast<From>(std::numeric_limits<To>::min()));
  Lane<From> high = from.constant(static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From(2));
  Lane<bool> below = from.le(x, low), above = from.ge(x, high), is_nan = from.ne(x, x);
  Lane<From> inside = from.select(from.or_(from.or_(below, above), is_nan), from.constant(From(0)), x);
  Lane<To> result{e.convert(inside.v, dtype_of<To>)};
  result = to.select(below, to.constant(std::numeric_limits<To>::min()), result);
  return to.select(above, to.constant(std::numeric_limits<To>::max()), result).v;
}

Value emit_not_zero(Emitter& e, Value v) { return e.compare(Compare::Ne, v, e.constant(v.dtype, 0)); }

void convert_emit(Emitter& e, const Params& params, std::span<const Value> in, std::span<Value> out) {
  const Dtype to = params.as<ConvertParams>().dtype;
  Value v = in[0];
  if (v.dtype == to) {
    out[0] = v;
    return;
  }
  if (v.dtype == Dtype::BF16 || v.dtype == Dtype::F16) v = e.convert(v, Dtype::F32);
  if (to == Dtype::Bool) {
    out[0] = emit_not_zero(e, v);
  } else if (is_floating(v.dtype) && is_integer(to)) {
    visit_dtype<only(Dtype::F32) | only(Dtype::F64)>(v.dtype, [&]<class From>(std::type_identity<From>) {
      visit_dtype<integer_dtypes>(
          to, [&]<class To>(std::type_identity<To>) { out[0] = emit_saturating<From, To>(e, v); });
    });
  } else if ((to == Dtype::BF16 || to == Dtype::F16) && v.dtype != Dtype::F32) {
    out[0] = e.convert(e.convert(v, Dtype::F32), to);
  } else {
    out[0] = v.dtype == to ? v : e.convert(v, to);
  }
}

// The real part to a real dtype; to booleans, whether it is not zero.
void convert_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<ConvertParams>();
  const Parts z = parts_of(in[0]);
  const Dtype part = part_dtype(p.dtype);
  if (p.dtype == Dtype::Bool)
    out[0] = lax::logical_or(lax::convert(z.re, Dtype::Bool), lax::convert(z.im, Dtype::Bool));
  else if (!is_complex(p.dtype))
    out[0] = lax::convert(z.re, part, p.weak);
  else
    out[0] = joined({lax::convert(z.re, part, p.weak), lax::convert(z.im, part, p.weak)});
}

void convert_jvp(const JvpRule& r) {
  const auto& p = r.params.as<ConvertParams>();
  r.outs[0] = lax::convert(r.primals[0], p.dtype, p.weak);
  if (is_inexact(p.dtype)) r.out_tangents[0] = lax::convert(r.tangents[0], p.dtype, p.weak);
}

void convert_transpose(const TransposeRule& r) {
  if (!r.cotangents[0].is_empty())
    r.out[0].add(lax::convert(r.cotangents[0], r.out[0].aval().dtype(), r.out[0].aval().weak()));
}

/// Whether floats are what `clip` gives between numbers that an i32 can be: these, or NaN.
bool are_clipped_to_i32(const GraphBuilder& builder, ValueId v) {
  constexpr double least = -2147483648., most = 2147483520.;  // an f32
  const Dtype dtype = builder.aval(v).dtype();
  if (dtype != Dtype::F32 && dtype != Dtype::F64) return false;
  bool above = false, below = false;
  for (int bounds = 0; bounds < 2; ++bounds) {
    const Eqn* e = builder.definition(v);
    if (!e || (e->op != &maximum_op && e->op != &minimum_op)) return false;
    const std::optional<double> bound = literal_number(builder, builder.operands(*e)[1]);
    if (!bound || !(*bound >= least && *bound <= most)) return false;
    (e->op == &maximum_op ? above : below) = true;
    v = builder.operands(*e)[0];
  }
  return above && below;
}

bool convert_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                     std::span<ValueId> results, Loc loc) {
  const auto& p = params.as<ConvertParams>();
  const Aval& in = builder.aval(operands[0]);
  if (in.dtype() == p.dtype && in.weak() == p.weak) {
    results[0] = operands[0];
    return true;
  }
  // Places are counted in the dtype that is asked for.
  const Eqn* made = builder.definition(operands[0]);
  if (made && made->op == &iota_op && in.dtype() == Dtype::I64 && !p.weak &&
      (p.dtype == Dtype::F32 || p.dtype == Dtype::F64)) {
    auto counted = made->params.as<IotaParams>();
    counted.dtype = p.dtype;
    builder.add(iota_op, make_params(std::move(counted)), {}, results, loc);
    return true;
  }
  // Processors have fewer instructions for integers of 64 bits, or none.
  if (p.dtype == Dtype::I64 && are_clipped_to_i32(builder, operands[0])) {
    ValueId narrow;
    builder.add(convert_op, make_params(ConvertParams{Dtype::I32, false}), operands, {&narrow, 1}, loc);
    builder.add(convert_op, params, {&narrow, 1}, results, loc);
    return true;
  }
  return fold_literals(builder, convert_op, params, operands, results);
}

}  // namespace

const Op convert_op = {
    .name = "convert",
    .kind = OpKind::Elementwise,
    .shape = convert_shape,
    .evaluate = convert_evaluate,
    .of_complex = convert_of_complex,
    .jvp = convert_jvp,
    .transpose = convert_transpose,
    .batch = elementwise_batch<convert_op>,
    .emit = convert_emit,
    .rewrite = convert_rewrite,
    .parse = parse_params<ConvertParams>,
    .spreads_nan = true,
};

}  // namespace apsis::detail

namespace apsis {

Array astype(const Array& x, Dtype dtype, Loc loc) {
  if (x.dtype() == dtype && !x.weak()) return x;
  const LocScope place(loc);
  return detail::lax::convert(x, dtype);
}

}  // namespace apsis
