// Comparisons, and the larger and smaller of two.

#include "apsis/ops/comparison.hpp"

#include "ops/complex.hpp"
#include "ops/elementwise.hpp"
#include "ops/extrema.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

struct Eq : BinaryPredicate {
  static constexpr const char* name = "eq";
  static constexpr DtypeSet dtypes = real_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.eq(a, b); }
};
struct Ne : BinaryPredicate {
  static constexpr const char* name = "ne";
  static constexpr DtypeSet dtypes = real_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.ne(a, b); }
};
struct Lt : BinaryPredicate {
  static constexpr const char* name = "lt";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.lt(a, b); }
};
struct Le : BinaryPredicate {
  static constexpr const char* name = "le";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.le(a, b); }
};
struct Gt : BinaryPredicate {
  static constexpr const char* name = "gt";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.gt(a, b); }
};
struct Ge : BinaryPredicate {
  static constexpr const char* name = "ge";
  static constexpr DtypeSet dtypes = number_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.ge(a, b); }
};

struct Maximum : Binary {
  static constexpr const char* name = "maximum";
  static constexpr DtypeSet dtypes = real_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return larger(m, a, b); }
};

struct Minimum : Binary {
  static constexpr const char* name = "minimum";
  static constexpr DtypeSet dtypes = real_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return smaller(m, a, b); }
};

// JAX's weights: all of the tangent to the operand chosen, half each on a tie.
void extremum_jvp(const Op& op, const JvpRule& r) {
  const Array &a = r.primals[0], &b = r.primals[1];
  bind(op, r.params, r.primals, r.outs);
  const Array& chosen = r.outs[0];
  Array zero = constant_like(a, 0), half = constant_like(a, 0.5), one = constant_like(a, 1);
  Array is_a = lax::eq(a, chosen), is_b = lax::eq(b, chosen);
  auto part = [&](const Array& tangent, const Array& mine, const Array& other) {
    if (tangent.is_empty()) return Array{};
    return lax::mul(tangent, lax::select(mine, lax::select(other, half, one), zero));
  };
  r.out_tangents[0] = add_tangents(part(r.tangents[0], is_a, is_b), part(r.tangents[1], is_b, is_a));
}

void maximum_jvp(const JvpRule& r) { extremum_jvp(maximum_op, r); }
void minimum_jvp(const JvpRule& r) { extremum_jvp(minimum_op, r); }

}  // namespace

const Op eq_op = {
    .name = "eq",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Eq>,
    .evaluate = elementwise_evaluate<Eq>,
    .of_complex = by_parts<parts::eq>,
    .jvp = zero_jvp<eq_op>,
    .batch = elementwise_batch<eq_op>,
    .emit = elementwise_emit<Eq>,
};

const Op ne_op = {
    .name = "ne",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Ne>,
    .evaluate = elementwise_evaluate<Ne>,
    .of_complex = by_parts<parts::ne>,
    .jvp = zero_jvp<ne_op>,
    .batch = elementwise_batch<ne_op>,
    .emit = elementwise_emit<Ne>,
};

const Op lt_op = {
    .name = "lt",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Lt>,
    .evaluate = elementwise_evaluate<Lt>,
    .jvp = zero_jvp<lt_op>,
    .batch = elementwise_batch<lt_op>,
    .emit = elementwise_emit<Lt>,
};

const Op le_op = {
    .name = "le",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Le>,
    .evaluate = elementwise_evaluate<Le>,
    .jvp = zero_jvp<le_op>,
    .batch = elementwise_batch<le_op>,
    .emit = elementwise_emit<Le>,
};

const Op gt_op = {
    .name = "gt",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Gt>,
    .evaluate = elementwise_evaluate<Gt>,
    .jvp = zero_jvp<gt_op>,
    .batch = elementwise_batch<gt_op>,
    .emit = elementwise_emit<Gt>,
};

const Op ge_op = {
    .name = "ge",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Ge>,
    .evaluate = elementwise_evaluate<Ge>,
    .jvp = zero_jvp<ge_op>,
    .batch = elementwise_batch<ge_op>,
    .emit = elementwise_emit<Ge>,
};

const Op maximum_op = {
    .name = "maximum",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Maximum>,
    .evaluate = elementwise_evaluate<Maximum>,
    .jvp = maximum_jvp,
    .batch = elementwise_batch<maximum_op>,
    .emit = elementwise_emit<Maximum>,
    .spreads_nan = true,
};

const Op minimum_op = {
    .name = "minimum",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<Minimum>,
    .evaluate = elementwise_evaluate<Minimum>,
    .jvp = minimum_jvp,
    .batch = elementwise_batch<minimum_op>,
    .emit = elementwise_emit<Minimum>,
    .spreads_nan = true,
};

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

namespace {

Array order(const Op& op, const Operand& a, const Operand& b) {
  if (a.array.dtype() == Dtype::Bool || b.array.dtype() == Dtype::Bool)
    fail(messages::chained_comparison, {op.name}, a.loc);
  return bind_matched(op, number_dtypes, a.array, b.array, a.loc);
}

}  // namespace

Array operator==(const Operand& a, const Operand& b) {
  return bind_matched(eq_op, real_dtypes, a.array, b.array, a.loc);
}
Array operator!=(const Operand& a, const Operand& b) {
  return bind_matched(ne_op, real_dtypes, a.array, b.array, a.loc);
}
Array operator<(const Operand& a, const Operand& b) { return order(lt_op, a, b); }
Array operator<=(const Operand& a, const Operand& b) { return order(le_op, a, b); }
Array operator>(const Operand& a, const Operand& b) { return order(gt_op, a, b); }
Array operator>=(const Operand& a, const Operand& b) { return order(ge_op, a, b); }

Array maximum(const Array& a, const Array& b, Loc loc) {
  return bind_matched(maximum_op, real_dtypes, a, b, loc);
}
Array minimum(const Array& a, const Array& b, Loc loc) {
  return bind_matched(minimum_op, real_dtypes, a, b, loc);
}
Array clip(const Array& x, const Array& low, const Array& high, Loc loc) {
  const auto limited = [loc](const Op& op, const Array& a, const Array& b) {
    const Operands o = matched("clip", a, b, loc);
    check_dtype("clip", real_dtypes, o.a.aval(), loc);
    return bind1(op, {}, {o.a, o.b}, loc);
  };
  return limited(minimum_op, limited(maximum_op, x, low), high);
}

}  // namespace apsis
