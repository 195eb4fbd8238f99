// Arithmetic: add, sub, mul, div, rem, neg, fma, abs, sign.

#include "apsis/ops/arithmetic.hpp"

#include <algorithm>

#include "ops/complex.hpp"
#include "ops/elementary.hpp"
#include "ops/index_params.hpp"
#include "ops/jet_rules.hpp"
#include "ops/operands.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

struct Add : Binary {
  static constexpr const char* name = "add";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.add(a, b); }
};

struct Sub : Binary {
  static constexpr const char* name = "sub";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.sub(a, b); }
};

struct Mul : Binary {
  static constexpr const char* name = "mul";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.mul(a, b); }
};

// Integers: a zero divisor gives all ones, the quotient that overflows wraps. Both divisors are replaced
// before the machine sees them, in lanes whose result nobody reads too: idiv traps.
struct Div : Binary {
  static constexpr const char* name = "div";
  static constexpr DtypeSet dtypes = number_dtypes;
  template <class M>
  static auto compute(const M& m, auto a, auto b) {
    using T = typename M::Scalar;
    if constexpr (M::is_float) {
      return m.div(a, b);
    } else {
      auto one = m.constant(T(1)), all_ones = m.constant(static_cast<T>(-1));
      auto by_zero = m.eq(b, m.constant(T(0)));
      if constexpr (M::is_signed) {
        auto by_minus_one = m.eq(b, all_ones);
        auto quotient = m.integer_div(a, m.select(m.or_(by_zero, by_minus_one), one, b));
        return m.select(by_zero, all_ones, m.select(by_minus_one, m.neg(a), quotient));
      } else {
        return m.select(by_zero, all_ones, m.integer_div(a, m.select(by_zero, one, b)));
      }
    }
  }
};

// What truncated division leaves, with the sign of the dividend; floats exactly. Integers: the dividend where
// the divisor is zero.
struct Rem : Binary {
  static constexpr const char* name = "rem";
  static constexpr std::int8_t divisor = 1;
  static constexpr DtypeSet dtypes = number_dtypes;
  static constexpr bool elementary = true;
  template <class M>
  static auto compute(const M& m, auto a, auto b) {
    using T = typename M::Scalar;
    if constexpr (std::is_floating_point_v<T>) {
      return math::fmod(math::Real<M>{m, a}, math::Real<M>{m, b}).v;
    } else {
      auto zero = m.constant(T(0));
      auto by_zero = m.eq(b, zero), special = by_zero;
      if constexpr (M::is_signed) special = m.or_(by_zero, m.eq(b, m.constant(static_cast<T>(-1))));
      auto rest = m.integer_rem(a, m.select(special, m.constant(T(1)), b));
      return m.select(by_zero, a, rest);
    }
  }
};

struct Neg : Unary {
  static constexpr const char* name = "neg";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a) { return m.neg(a); }
};

struct Fma : Ternary {
  static constexpr const char* name = "fma";
  static constexpr DtypeSet dtypes = float_dtypes;
  static auto compute(const auto& m, auto a, auto b, auto c) { return m.fma(a, b, c); }
};

struct Abs : Unary {
  static constexpr const char* name = "abs";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a) { return m.abs(a); }
};

// Zeros keep their sign, NaN stays.
struct Sign : Unary {
  static constexpr const char* name = "sign";
  static constexpr DtypeSet dtypes = number_dtypes;
  template <class M>
  static auto compute(const M& m, auto a) {
    using T = typename M::Scalar;
    auto zero = m.constant(T(0));
    return m.select(m.gt(a, zero), m.constant(T(1)),
                    m.select(m.lt(a, zero), m.constant(static_cast<T>(-1)), a));
  }
};

APSIS_ELEMENTARY_BINARY(CopySign, copysign, false)

void add_jvp(const JvpRule& r) {
  r.outs[0] = lax::add(r.primals[0], r.primals[1]);
  r.out_tangents[0] = add_tangents(r.tangents[0], r.tangents[1]);
}

void add_transpose(const TransposeRule& r) {
  for (Accumulator& operand : r.out) operand.add(r.cotangents[0]);
}

void sub_jvp(const JvpRule& r) {
  r.outs[0] = lax::sub(r.primals[0], r.primals[1]);
  const Array &a = r.tangents[0], &b = r.tangents[1];
  r.out_tangents[0] = b.is_empty() ? a : a.is_empty() ? lax::neg(b) : lax::sub(a, b);
}

void sub_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  r.out[0].add(r.cotangents[0]);
  if (r.out[1].is_linear()) r.out[1].add(lax::neg(r.cotangents[0]));
}

// The tangent of a product, its empty parts left out.
Array product_tangent(const JvpRule& r) {
  Array left = r.tangents[0].is_empty() ? Array{} : lax::mul(r.tangents[0], r.primals[1]);
  Array right = r.tangents[1].is_empty() ? Array{} : lax::mul(r.primals[0], r.tangents[1]);
  return add_tangents(left, right);
}

void mul_jvp(const JvpRule& r) {
  r.outs[0] = lax::mul(r.primals[0], r.primals[1]);
  r.out_tangents[0] = product_tangent(r);
}

// The part of mul and fma: the cotangent times the other factor.
void factor_transpose(const TransposeRule& r) {
  if (r.out[0].is_linear() && r.out[1].is_linear()) fail(messages::not_linear, {"mul"});
  if (r.cotangents[0].is_empty()) return;
  if (r.out[0].is_linear()) r.out[0].add(lax::mul(r.cotangents[0], r.operands[1]));
  if (r.out[1].is_linear()) r.out[1].add(lax::mul(r.operands[0], r.cotangents[0]));
}

// d(a/b) = (da - (a/b) db) / b.
void div_jvp(const JvpRule& r) {
  const Array& b = r.primals[1];
  r.outs[0] = lax::div(r.primals[0], b);
  Array left = r.tangents[0].is_empty() ? Array{} : lax::div(r.tangents[0], b);
  Array right =
      r.tangents[1].is_empty() ? Array{} : lax::mul(lax::div(lax::neg(r.outs[0]), b), r.tangents[1]);
  r.out_tangents[0] = add_tangents(left, right);
}

void div_transpose(const TransposeRule& r) {
  if (r.out[1].is_linear()) fail(messages::not_linear, {"div"});
  if (!r.cotangents[0].is_empty() && r.out[0].is_linear())
    r.out[0].add(lax::div(r.cotangents[0], r.operands[1]));
}

// As JAX: d rem(a, b) = da - trunc(a/b) db.
void rem_jvp(const JvpRule& r) {
  const Array &a = r.primals[0], &b = r.primals[1];
  bind(rem_op, r.params, r.primals, r.outs);
  Array right;
  if (!r.tangents[1].is_empty()) right = lax::neg(lax::mul(apply(trunc_op, lax::div(a, b)), r.tangents[1]));
  r.out_tangents[0] = add_tangents(r.tangents[0], right);
}

void neg_jvp(const JvpRule& r) {
  r.outs[0] = lax::neg(r.primals[0]);
  r.out_tangents[0] = lax::neg(r.tangents[0]);
}

void neg_transpose(const TransposeRule& r) {
  if (!r.cotangents[0].is_empty()) r.out[0].add(lax::neg(r.cotangents[0]));
}

void fma_jvp(const JvpRule& r) {
  r.outs[0] = lax::fma(r.primals[0], r.primals[1], r.primals[2]);
  r.out_tangents[0] = add_tangents(product_tangent(r), r.tangents[2]);
}

void fma_transpose(const TransposeRule& r) {
  factor_transpose(r);
  r.out[2].add(r.cotangents[0]);
}

void mul_jet(const JetRule& r) { jet_of_product(r, lax::mul); }

void fma_jet(const JetRule& r) {
  r.outs[0] = bind1(fma_op, {}, {r.primals[0], r.primals[1], r.primals[2]});
  for (std::size_t n = 1; n <= r.order; ++n)
    r.out_series[0].push_back(add_terms(leibniz(r, n, lax::mul), jet_term(r, 2, n)));
}

// From b q = a: b q_n = a_n - Σ_{k ≥ 1} C(n, k) b_k q_{n-k}.
void div_jet(const JetRule& r) {
  const Array& b = r.primals[1];
  r.outs[0] = lax::div(r.primals[0], b);
  for (std::size_t n = 1; n <= r.order; ++n) {
    Array rest = jet_term(r, 0, n);
    for (std::size_t k = 1; k <= n; ++k) {
      const Array move = jet_term(r, 1, k), &q = k == n ? r.outs[0] : r.out_series[0][n - k - 1];
      if (!move.is_empty() && !q.is_empty())
        rest = add_terms(rest, lax::neg(times_binomial(lax::mul(move, q), n, k)));
    }
    r.out_series[0].push_back(rest.is_empty() ? rest : lax::div(rest, b));
  }
}

// As JAX: 1 at zero.
void abs_jvp(const JvpRule& r) {
  r.outs[0] = bind1(abs_op, {}, {r.primals[0]});
  Array positive = lax::ge(r.primals[0], constant_like(r.primals[0], 0));
  r.out_tangents[0] = lax::select(positive, r.tangents[0], lax::neg(r.tangents[0]));
}

// The result is ±a: +a where the signs agree.
Array copysign_slope(const Array& a, const Array& b) {
  const Array one = constant_like(a, 1);
  return lax::mul(bind1(copysign_op, {}, {one, a}), bind1(copysign_op, {}, {one, b}));
}

void copysign_jvp(const JvpRule& r) {
  bind(copysign_op, r.params, r.primals, r.outs);
  if (!r.tangents[0].is_empty())
    r.out_tangents[0] = lax::mul(r.tangents[0], copysign_slope(r.primals[0], r.primals[1]));
}

// The factors of `v` if it is a floating-point product seen through broadcasts and reshapes, which are then
// applied to the factors. `negate` gives those of -v.
bool find_product(GraphBuilder& builder, ValueId v, bool negate, ValueId& a, ValueId& b, Loc loc) {
  Dtype dtype = builder.aval(v).dtype();
  if (dtype != Dtype::F32 && dtype != Dtype::F64) return false;
  std::vector<std::pair<const Op*, Params>> views;
  const Eqn* e = builder.definition(v);
  for (; e && (e->op->view_kind == ViewKind::Repeated || e->op->view_kind == ViewKind::Reshaped);
       e = builder.definition(builder.operands(*e)[0]))
    views.emplace_back(e->op, e->params);
  if (!e || e->op != &mul_op) return false;
  a = builder.operands(*e)[0];
  b = builder.operands(*e)[1];
  if (negate) builder.add(neg_op, {}, {&a, 1}, {&a, 1}, loc);
  for (std::size_t i = views.size(); i-- > 0;) {
    builder.add(*views[i].first, views[i].second, {&a, 1}, {&a, 1}, loc);
    builder.add(*views[i].first, views[i].second, {&b, 1}, {&b, 1}, loc);
  }
  return true;
}

void append_fma(GraphBuilder& builder, ValueId a, ValueId b, ValueId c, std::span<ValueId> results, Loc loc) {
  const ValueId operands[] = {a, b, c};
  builder.append(fma_op, {}, operands, results, loc);
}

bool is_zeros(GraphBuilder& builder, ValueId v) {
  const Eqn* e = builder.definition(v);
  if (e && e->op->view_kind == ViewKind::Repeated) e = builder.definition(builder.operands(*e)[0]);
  return e && e->op->kind == OpKind::Constant && e->params.as<ConstantParams>().bits == 0;
}

// A scatter of places that differ, one for each lane for instance, is like a slice that is written.
bool replaces_places(const Eqn& e) {
  if (e.op->updates < 0) return false;
  if (!e.op->places) return true;
  const auto& p = e.params.as<ScatterParams>();
  return p.kind == ScatterKind::Set && p.unique;
}

bool adds_in_place(const Eqn& e) {
  return replaces_places(e) ||
         (e.op->updates >= 0 && e.op->places && e.params.as<ScatterParams>().kind == ScatterKind::Add);
}

// Whether v is zero but for what a few slices or scatters put there.
bool is_sparse(GraphBuilder& builder, ValueId v) {
  constexpr int most = 256;
  for (int i = 0; i < most; ++i) {
    if (is_zeros(builder, v)) return true;
    const Eqn* e = builder.definition(v);
    if (!e || !adds_in_place(*e)) return false;
    v = builder.operands(*e)[0];
  }
  return false;
}

// What reads the places that an update replaces, and which operand of it is written there; the others say
// where.
struct Reader {
  const Op* op;
  Params params;
  std::ptrdiff_t update;
};
Reader reader_of(GraphBuilder& builder, const Eqn& e) {
  const std::ptrdiff_t written = e.op->written;
  if (e.op->places) return {&gather_op, make_params(e.op->places(e.params)), written};
  const ValueId update = builder.operands(e)[static_cast<std::size_t>(written)];
  return {&dynamic_slice_op, make_params(DynamicSliceParams{builder.aval(update).shape()}), written};
}

// For an update that replaces places: what it adds to what is there, as the equation that does so with its
// operand for that last. None if it is something else that is written.
const Eqn* added_to_places(GraphBuilder& builder, ValueId update, const Reader& reader,
                           std::span<const ValueId> read) {
  const Eqn* sum = builder.definition(update);
  if (!sum || (sum->op != &add_op && sum->op != &fma_op)) return nullptr;
  const Eqn* old = builder.definition(builder.operands(*sum).back());
  const bool same = old && old->op == reader.op && old->params == reader.params &&
                    std::ranges::equal(builder.operands(*old), read);
  return same ? sum : nullptr;
}

// x plus an array that is zero but for some slices, or for what was scattered, is x with these added in
// place: the cotangent of a buffer that a loop reads in parts costs the parts.
bool add_in_place(GraphBuilder& builder, ValueId x, ValueId y, std::span<ValueId> results, Loc loc) {
  const Eqn* e = builder.definition(y);
  if (!e || !adds_in_place(*e) || !(builder.aval(x) == builder.aval(y)) || !is_sparse(builder, y))
    return false;
  const Op& op = *e->op;
  const Params params = e->params;
  std::vector<ValueId> operands(builder.operands(*e).begin(), builder.operands(*e).end());
  const ValueId base = operands[0];
  const bool first = is_zeros(builder, base), replaces = replaces_places(*e);
  const Reader reader = replaces ? reader_of(builder, *e) : Reader{};
  const Op* sum = &add_op;
  std::vector<ValueId> terms, read = operands;
  if (replaces) {
    read.erase(read.begin() + reader.update);
    const ValueId update = operands[static_cast<std::size_t>(reader.update)];
    const Eqn* added = first ? nullptr : added_to_places(builder, update, reader, read);
    if (!first && !added) return false;
    if (added) {
      sum = added->op;
      terms.assign(builder.operands(*added).begin(), builder.operands(*added).end());
    } else {
      terms = {update, 0};
    }
  }
  operands[0] = x;
  if (!first) {
    const ValueId rest[] = {x, base};
    builder.add(add_op, {}, rest, {operands.data(), 1}, loc);
  }
  if (replaces) {
    read[0] = operands[0];
    builder.add(*reader.op, reader.params, read, {&terms.back(), 1}, loc);
    builder.add(*sum, {}, terms, {&operands[static_cast<std::size_t>(reader.update)], 1}, loc);
  }
  builder.add(op, params, operands, results, loc);
  return true;
}

// A sum with a product is one multiply-add, the left product first, whatever else uses the product: so `f`
// and `value_and_grad(f)` round alike.
bool add_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                 std::span<ValueId> results, Loc loc) {
  const ValueId x = operands[0], y = operands[1];
  if (fold_literals(builder, add_op, params, operands, results)) return true;
  if (add_in_place(builder, x, y, results, loc) || add_in_place(builder, y, x, results, loc)) return true;
  ValueId a, b;
  if (find_product(builder, x, false, a, b, loc)) return append_fma(builder, a, b, y, results, loc), true;
  if (find_product(builder, y, false, a, b, loc)) return append_fma(builder, a, b, x, results, loc), true;
  return false;
}

bool sub_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                 std::span<ValueId> results, Loc loc) {
  const ValueId x = operands[0];
  ValueId y = operands[1];
  if (fold_literals(builder, sub_op, params, operands, results)) return true;
  ValueId a, b;
  if (find_product(builder, x, false, a, b, loc)) {
    builder.add(neg_op, {}, {&y, 1}, {&y, 1}, loc);
    return append_fma(builder, a, b, y, results, loc), true;
  }
  if (find_product(builder, y, true, a, b, loc)) return append_fma(builder, a, b, x, results, loc), true;
  return false;
}

// x·1 is x, unless the product is strong and x weak.
bool mul_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                 std::span<ValueId> results, Loc) {
  if (fold_literals(builder, mul_op, params, operands, results)) return true;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId x = operands[i], one = operands[1 - i];
    if (builder.aval(x).weak() && !builder.aval(one).weak()) continue;
    if (is_literal(builder, one, 1)) {
      results[0] = x;
      return true;
    }
  }
  return false;
}

bool div_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                 std::span<ValueId> results, Loc) {
  if (fold_literals(builder, div_op, params, operands, results)) return true;
  const ValueId x = operands[0], one = operands[1];
  if ((builder.aval(x).weak() && !builder.aval(one).weak()) || !is_literal(builder, one, 1)) return false;
  results[0] = x;
  return true;
}

bool neg_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                 std::span<ValueId> results, Loc) {
  if (fold_literals(builder, neg_op, params, operands, results)) return true;
  const Eqn* e = builder.definition(operands[0]);
  if (!e || e->op != &neg_op) return false;
  results[0] = builder.operands(*e)[0];
  return true;
}

}  // namespace

const Op add_op = {
    .name = "add",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Add>,
    .evaluate = elementwise_evaluate<Add>,
    .of_complex = each_part<add_op>,
    .jvp = add_jvp,
    .transpose = add_transpose,
    .batch = elementwise_batch<add_op>,
    .emit = elementwise_emit<Add>,
    .rewrite = add_rewrite,
    .spreads_nan = true,
    .arithmetic = Arithmetic::Sum,
};

const Op sub_op = {
    .name = "sub",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Sub>,
    .evaluate = elementwise_evaluate<Sub>,
    .of_complex = each_part<sub_op>,
    .jvp = sub_jvp,
    .transpose = sub_transpose,
    .batch = elementwise_batch<sub_op>,
    .emit = elementwise_emit<Sub>,
    .rewrite = sub_rewrite,
    .spreads_nan = true,
};

const Op mul_op = {
    .name = "mul",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Mul>,
    .evaluate = elementwise_evaluate<Mul>,
    .of_complex = by_parts<parts::mul>,
    .jvp = mul_jvp,
    .transpose = factor_transpose,
    .batch = elementwise_batch<mul_op>,
    .jet = mul_jet,
    .emit = elementwise_emit<Mul>,
    .rewrite = mul_rewrite,
    .spreads_nan = true,
    .arithmetic = Arithmetic::Product,
};

const Op div_op = {
    .name = "div",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Div>,
    .evaluate = elementwise_evaluate<Div>,
    .of_complex = by_parts<parts::div>,
    .jvp = div_jvp,
    .transpose = div_transpose,
    .batch = elementwise_batch<div_op>,
    .jet = div_jet,
    .emit = elementwise_emit<Div>,
    .rewrite = div_rewrite,
    .spreads_nan = true,
    .divisor = 1,
};

constinit const Op copysign_op = elementwise_op<CopySign, copysign_op>(copysign_jvp);
constinit const Op rem_op = elementwise_op<Rem, rem_op>(rem_jvp);

const Op neg_op = {
    .name = "neg",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Neg>,
    .evaluate = elementwise_evaluate<Neg>,
    .of_complex = each_part<neg_op>,
    .jvp = neg_jvp,
    .transpose = neg_transpose,
    .batch = elementwise_batch<neg_op>,
    .emit = elementwise_emit<Neg>,
    .rewrite = neg_rewrite,
    .spreads_nan = true,
};

const Op fma_op = {
    .name = "fma",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Fma>,
    .evaluate = elementwise_evaluate<Fma>,
    .jvp = fma_jvp,
    .transpose = fma_transpose,
    .batch = elementwise_batch<fma_op>,
    .jet = fma_jet,
    .emit = elementwise_emit<Fma>,
    .spreads_nan = true,
    .arithmetic = Arithmetic::ProductSum,
};

const Op abs_op = {
    .name = "abs",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Abs>,
    .evaluate = elementwise_evaluate<Abs>,
    .jvp = abs_jvp,
    .batch = elementwise_batch<abs_op>,
    .emit = elementwise_emit<Abs>,
    .spreads_nan = true,
};

const Op sign_op = {
    .name = "sign",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Sign>,
    .evaluate = elementwise_evaluate<Sign>,
    .jvp = zero_jvp<sign_op>,
    .batch = elementwise_batch<sign_op>,
    .emit = elementwise_emit<Sign>,
    .spreads_nan = true,
};

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

namespace {

bool only_first_is_complex(const Operand& a, const Operand& b) {
  return is_complex(a.array.dtype(a.loc)) && !is_complex(b.array.dtype(a.loc));
}

/// Of a complex number and a real one: as in C99, the op is on each part.
Array on_parts(const Op& op, const Array& z, const Array& r, Loc loc) {
  const LocScope place(loc);
  const Operands o = matched(op.name, z, r, loc);
  const Array in[] = {o.a, parts_of(o.b).re};
  Array out;
  on_each_part(op, {}, in, {&out, 1});
  return out;
}

}  // namespace

Array operator+(const Operand& a, const Operand& b) {
  const Operands o = matched("add", a.array, b.array, a.loc);
  if (o.a.dtype() == Dtype::Bool) return bind1(bit_or_op, {}, {o.a, o.b}, a.loc);
  check_operand(add_op, number_dtypes, o.a, a.loc);
  return bind1(add_op, {}, {o.a, o.b}, a.loc);
}

Array operator-(const Operand& a, const Operand& b) {
  return bind_matched(sub_op, number_dtypes, a.array, b.array, a.loc);
}

Array operator*(const Operand& a, const Operand& b) {
  if (only_first_is_complex(a, b)) return on_parts(mul_op, a.array, b.array, a.loc);
  if (only_first_is_complex(b, a)) return on_parts(mul_op, b.array, a.array, a.loc);
  const Operands o = matched("mul", a.array, b.array, a.loc);
  if (o.a.dtype() == Dtype::Bool) return bind1(bit_and_op, {}, {o.a, o.b}, a.loc);
  check_operand(mul_op, number_dtypes, o.a, a.loc);
  return bind1(mul_op, {}, {o.a, o.b}, a.loc);
}

Array operator/(const Operand& a, const Operand& b) {
  if (only_first_is_complex(a, b)) return on_parts(div_op, a.array, b.array, a.loc);
  return bind_floating(div_op, a.array, b.array, a.loc);
}
Array operator%(const Operand& a, const Operand& b) { return remainder(a.array, b.array, a.loc); }

Array operator-(const Operand& a) {
  check_operand(neg_op, number_dtypes, a.array, a.loc);
  return bind1(neg_op, {}, {a.array}, a.loc);
}
Array operator+(const Operand& a) { return a.array; }

Array& operator+=(Array& a, const Operand& b) { return a = Operand(a, b.loc) + b; }
Array& operator-=(Array& a, const Operand& b) { return a = Operand(a, b.loc) - b; }
Array& operator*=(Array& a, const Operand& b) { return a = Operand(a, b.loc) * b; }
Array& operator/=(Array& a, const Operand& b) { return a = Operand(a, b.loc) / b; }
Array& operator%=(Array& a, const Operand& b) { return a = Operand(a, b.loc) % b; }

Array abs(const Array& x, Loc loc) {
  if (x.dtype() == Dtype::Bool || is_unsigned_integer(x.dtype())) return x;
  if (is_complex(x.dtype())) {
    const LocScope place(loc);
    return parts::abs(parts_of(x));
  }
  check_dtype("abs", number_dtypes, x.aval(), loc);
  return bind1(abs_op, {}, {x}, loc);
}

Array sign(const Array& x, Loc loc) {
  if (is_complex(x.dtype(loc))) {
    const LocScope place(loc);
    return joined(parts::sign(parts_of(x)));
  }
  check_dtype("sign", number_dtypes, x.aval(), loc);
  return bind1(sign_op, {}, {x}, loc);
}

Array square(const Array& x, Loc loc) { return Operand(x, loc) * Operand(x, loc); }
Array reciprocal(const Array& x, Loc loc) { return Operand(1, loc) / Operand(x, loc); }

Array fma(const Array& a, const Array& b, const Array& c, Loc loc) {
  const Operands factors = matched_floating("fma", a, b, loc);
  const Operands left = matched_floating("fma", factors.a, c, loc);
  const Operands right = matched_floating("fma", factors.b, left.b, loc);
  return bind1(fma_op, {}, {left.a, right.a, right.b}, loc);
}

// As JAX: integers by the truncated quotient, floats by CPython's float_divmod.
Array floor_divide(const Array& a, const Array& b, Loc loc) {
  const Operands o = matched("floor_divide", a, b, loc);
  check_dtype("floor_divide", number_dtypes, o.a.aval(), loc);
  const Array zero = constant_like(o.a, 0), one = constant_like(o.a, 1);
  if (is_unsigned_integer(o.a.dtype())) return bind1(div_op, {}, {o.a, o.b}, loc);
  const Array rest = bind1(rem_op, {}, {o.a, o.b}, loc), has_rest = lax::ne(rest, zero);
  const bool integers = is_integer(o.a.dtype());
  const Array dividend = integers ? o.a : lax::select(lax::eq(o.b, zero), o.a, lax::sub(o.a, rest));
  const Array quotient = bind1(div_op, {}, {dividend, o.b}, loc);
  const Array signs_differ = lax::ne(apply(sign_op, integers ? o.a : rest), apply(sign_op, o.b));
  const Array floored =
      lax::select(lax::logical_and(has_rest, signs_differ), lax::sub(quotient, one), quotient);
  return integers ? floored : apply(round_op, floored);
}

// As JAX: an integer's remainder by zero is zero.
Array remainder(const Array& a, const Array& b, Loc loc) {
  const Operands o = matched("remainder", a, b, loc);
  check_dtype("remainder", number_dtypes, o.a.aval(), loc);
  const Array zero = constant_like(o.a, 0);
  Array rest = bind1(rem_op, {}, {o.a, o.b}, loc);
  if (is_integer(o.a.dtype())) rest = lax::select(lax::eq(o.b, zero), zero, rest);
  if (is_unsigned_integer(o.a.dtype())) return rest;
  const Array signs_differ = lax::ne(lax::lt(rest, zero), lax::lt(o.b, zero));
  return lax::select(lax::logical_and(signs_differ, lax::ne(rest, zero)), lax::add(rest, o.b), rest);
}

Array fmod(const Array& a, const Array& b, Loc loc) { return bind_matched(rem_op, number_dtypes, a, b, loc); }
Array copysign(const Array& a, const Array& b, Loc loc) { return bind_floating(copysign_op, a, b, loc); }

}  // namespace apsis
