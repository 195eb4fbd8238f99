// select, is_finite and stop_gradient.

#include "apsis/ops/select.hpp"

#include <cstring>

#include "ops/complex.hpp"
#include "ops/elementwise.hpp"
#include "ops/index_rules.hpp"
#include "ops/operands.hpp"
#include "ops/stop_gradient.hpp"

namespace apsis::detail {
namespace {

// The condition has the shape of the branches; any dtype moves.
void select_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  if (in.size() != 3) fail(messages::wrong_operand_count, {"select", "3", std::to_string(in.size())});
  check_dtype("select", bool_dtypes, in[0]);
  if (!(in[0].shape() == in[1].shape()))
    fail(messages::operands_differ, {"select", to_string(in[0]), to_string(in[1])});
  out.push_back(elementwise_aval("select", 2, all_dtypes, false, in.subspan(1)));
}

void select_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  visit_dtype<all_dtypes>(out[0].dtype(), [&]<class T>(std::type_identity<T>) {
    const auto* condition = static_cast<const bool*>(data_of(in[0]));
    const auto* if_true = static_cast<const T*>(data_of(in[1]));
    const auto* if_false = static_cast<const T*>(data_of(in[2]));
    auto* r = mutable_data<T>(out[0]);
    for (std::int64_t i = 0, n = out[0].size(); i < n; ++i) r[i] = condition[i] ? if_true[i] : if_false[i];
  });
}

void select_emit(Emitter& e, const Params&, std::span<const Value> in, std::span<Value> out) {
  out[0] = e.select(in[0], in[1], in[2]);
}

void select_jvp(const JvpRule& r) {
  r.outs[0] = lax::select(r.primals[0], r.primals[1], r.primals[2]);
  const Array &a = r.tangents[1], &b = r.tangents[2];
  if (a.is_empty() && b.is_empty()) return;
  r.out_tangents[0] = lax::select(r.primals[0], or_zeros(a, r.primals[1]), or_zeros(b, r.primals[2]));
}

void select_transpose(const TransposeRule& r) {
  const Array& ct = r.cotangents[0];
  if (ct.is_empty()) return;
  Array zero = constant_like(ct, 0);
  if (r.out[1].is_linear()) r.out[1].add(lax::select(r.operands[0], ct, zero));
  if (r.out[2].is_linear()) r.out[2].add(lax::select(r.operands[0], zero, ct));
}

// Equal branches need no choice.
bool select_rewrite(GraphBuilder&, const Params&, std::span<const ValueId> operands,
                    std::span<ValueId> results, Loc) {
  if (operands[1] != operands[2]) return false;
  results[0] = operands[1];
  return true;
}

struct IsFinite : UnaryPredicate {
  static constexpr const char* name = "is_finite";
  static constexpr DtypeSet dtypes = float_dtypes;
  template <class M>
  static auto compute(const M& m, auto a) {
    return m.lt(m.abs(a), m.constant(std::numeric_limits<typename M::Scalar>::infinity()));
  }
};

void stop_gradient_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  if (in.size() != 1) fail(messages::wrong_operand_count, {"stop_gradient", "1", std::to_string(in.size())});
  out.push_back(in[0]);
}

void stop_gradient_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  std::memcpy(mutable_data<char>(out[0]), data_of(in[0]), in[0].aval().bytes());
}

void stop_gradient_emit(Emitter&, const Params&, std::span<const Value> in, std::span<Value> out) {
  out[0] = in[0];
}

// A value of the tangent program has no gradient to stop, and stopping it has no transpose.
void stop_gradient_linearize(const LinearizeRule& r) {
  if (!r.primals[0].is_empty()) return bind(stop_gradient_op, r.params, r.primals, r.outs);
  if (r.params) {
    r.outs[0] = constant_like(r.tangents[0], 0);
    return;
  }
  TraceScope scope(r.tangent_trace);
  bind(stop_gradient_op, r.params, r.tangents, r.out_tangents);
}

}  // namespace

const Op select_op = {
    .name = "select",
    .kind = OpKind::Elementwise,
    .shape = select_shape,
    .evaluate = select_evaluate,
    .of_complex = each_part<select_op>,
    .jvp = select_jvp,
    .transpose = select_transpose,
    .batch = elementwise_batch<select_op>,
    .emit = select_emit,
    .rewrite = select_rewrite,
    .moves = true,
    .chooses = true,
};

const Op is_finite_op = {
    .name = "is_finite",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<IsFinite>,
    .evaluate = elementwise_evaluate<IsFinite>,
    .of_complex = by_parts<parts::is_finite>,
    .jvp = zero_jvp<is_finite_op>,
    .batch = elementwise_batch<is_finite_op>,
    .emit = elementwise_emit<IsFinite>,
};

// The identity, kept in graphs because they may be differentiated later.
const Op stop_gradient_op = {
    .name = "stop_gradient",
    .kind = OpKind::Elementwise,
    .shape = stop_gradient_shape,
    .evaluate = stop_gradient_evaluate,
    .of_complex = each_part<stop_gradient_op>,
    .jvp = zero_jvp<stop_gradient_op>,
    .linearize = stop_gradient_linearize,
    .batch = elementwise_batch<stop_gradient_op>,
    .emit = stop_gradient_emit,
    .parse = parse_params<StopGradientParams>,
    .spreads_nan = true,
    .moves = true,
};

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array where(const Array& condition, const Array& if_true, const Array& if_false, Loc loc) {
  const Operands values = matched("where", if_true, if_false, loc);
  const Array chosen = truth(condition);
  const Shape shapes[] = {chosen.shape(), values.a.shape()};
  const Shape shape = broadcast_shapes("where", shapes, loc);
  return bind1(select_op, {},
               {broadcast_operand(chosen, shape), broadcast_operand(values.a, shape),
                broadcast_operand(values.b, shape)},
               loc);
}

Array isnan(const Array& x, Loc loc) { return bind1(ne_op, {}, {x, x}, loc); }

Array isinf(const Array& x, Loc loc) {
  if (is_complex(x.dtype(loc))) {
    const Parts z = parts_of(x);
    return lax::logical_or(isinf(z.re, loc), isinf(z.im, loc));
  }
  const Array value = floating("isinf", x, loc);
  const Array magnitude = bind1(abs_op, {}, {value}, loc);
  return lax::eq(magnitude, constant_like(value, std::numeric_limits<double>::infinity()));
}

Array isfinite(const Array& x, Loc loc) { return bind_floating(is_finite_op, x, loc); }
Array stop_gradient(const Array& x, Loc loc) { return bind1(stop_gradient_op, {}, {x}, loc); }

}  // namespace apsis
