// Bitwise logic on booleans and integers, shifts, and counting bits.

#include "apsis/ops/logic.hpp"

#include "ops/elementwise.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

struct BitAnd : Binary {
  static constexpr const char* name = "bit_and";
  static constexpr DtypeSet dtypes = bit_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.and_(a, b); }
};
struct BitOr : Binary {
  static constexpr const char* name = "bit_or";
  static constexpr DtypeSet dtypes = bit_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.or_(a, b); }
};
struct BitXor : Binary {
  static constexpr const char* name = "bit_xor";
  static constexpr DtypeSet dtypes = bit_dtypes;
  static auto compute(const auto& m, auto a, auto b) { return m.xor_(a, b); }
};
struct BitNot : Unary {
  static constexpr const char* name = "bit_not";
  static constexpr DtypeSet dtypes = bit_dtypes;
  static auto compute(const auto& m, auto a) { return m.not_(a); }
};

// Counts outside [0, width) shift everything out. Negative counts are large ones when read as unsigned.
template <class M>
auto in_width(const M& m, auto count) {
  using T = typename M::Scalar;
  auto below = m.lt(count, m.constant(static_cast<T>(sizeof(T) * 8)));
  if constexpr (M::is_signed)
    return m.and_(below, m.ge(count, m.constant(T(0))));
  else
    return below;
}

template <class M>
auto guarded_count(const M& m, auto in_range, auto count) {
  return m.select(in_range, count, m.constant(typename M::Scalar(0)));
}

struct ShiftLeft : Binary {
  static constexpr const char* name = "shift_left";
  static constexpr DtypeSet dtypes = integer_dtypes;
  template <class M>
  static auto compute(const M& m, auto a, auto count) {
    auto in_range = in_width(m, count);
    return m.select(in_range, m.shift_left(a, guarded_count(m, in_range, count)),
                    m.constant(typename M::Scalar(0)));
  }
};
struct ShiftRightLogical : Binary {
  static constexpr const char* name = "shift_right_logical";
  static constexpr DtypeSet dtypes = integer_dtypes;
  template <class M>
  static auto compute(const M& m, auto a, auto count) {
    auto in_range = in_width(m, count);
    return m.select(in_range, m.shift_right_logical(a, guarded_count(m, in_range, count)),
                    m.constant(typename M::Scalar(0)));
  }
};
struct ShiftRightArithmetic : Binary {
  static constexpr const char* name = "shift_right_arithmetic";
  static constexpr DtypeSet dtypes = integer_dtypes;
  template <class M>
  static auto compute(const M& m, auto a, auto count) {
    using T = typename M::Scalar;
    return m.shift_right_arithmetic(
        a, m.select(in_width(m, count), count, m.constant(static_cast<T>(sizeof(T) * 8 - 1))));
  }
};

struct PopulationCount : Unary {
  static constexpr const char* name = "population_count";
  static constexpr DtypeSet dtypes = integer_dtypes;
  static auto compute(const auto& m, auto a) { return m.population_count(a); }
};
struct CountLeadingZeros : Unary {
  static constexpr const char* name = "count_leading_zeros";
  static constexpr DtypeSet dtypes = integer_dtypes;
  static auto compute(const auto& m, auto a) { return m.leading_zeros(a); }
};

constexpr const char* discrete = "booleans and integers have no tangents";

}  // namespace

const Op bit_and_op = {
    .name = "bit_and",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<BitAnd>,
    .evaluate = elementwise_evaluate<BitAnd>,
    .batch = elementwise_batch<bit_and_op>,
    .emit = elementwise_emit<BitAnd>,
    .not_differentiable = discrete,
    .logic = Logic::All,
};

const Op bit_or_op = {
    .name = "bit_or",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<BitOr>,
    .evaluate = elementwise_evaluate<BitOr>,
    .batch = elementwise_batch<bit_or_op>,
    .emit = elementwise_emit<BitOr>,
    .not_differentiable = discrete,
    .logic = Logic::Any,
};

const Op bit_xor_op = {
    .name = "bit_xor",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<BitXor>,
    .evaluate = elementwise_evaluate<BitXor>,
    .batch = elementwise_batch<bit_xor_op>,
    .emit = elementwise_emit<BitXor>,
    .not_differentiable = discrete,
};

const Op bit_not_op = {
    .name = "bit_not",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<BitNot>,
    .evaluate = elementwise_evaluate<BitNot>,
    .batch = elementwise_batch<bit_not_op>,
    .emit = elementwise_emit<BitNot>,
    .not_differentiable = discrete,
};

const Op shift_left_op = {
    .name = "shift_left",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<ShiftLeft>,
    .evaluate = elementwise_evaluate<ShiftLeft>,
    .batch = elementwise_batch<shift_left_op>,
    .emit = elementwise_emit<ShiftLeft>,
    .not_differentiable = discrete,
};

const Op shift_right_arithmetic_op = {
    .name = "shift_right_arithmetic",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<ShiftRightArithmetic>,
    .evaluate = elementwise_evaluate<ShiftRightArithmetic>,
    .batch = elementwise_batch<shift_right_arithmetic_op>,
    .emit = elementwise_emit<ShiftRightArithmetic>,
    .not_differentiable = discrete,
};

const Op shift_right_logical_op = {
    .name = "shift_right_logical",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<ShiftRightLogical>,
    .evaluate = elementwise_evaluate<ShiftRightLogical>,
    .batch = elementwise_batch<shift_right_logical_op>,
    .emit = elementwise_emit<ShiftRightLogical>,
    .not_differentiable = discrete,
};

const Op population_count_op = {
    .name = "population_count",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<PopulationCount>,
    .evaluate = elementwise_evaluate<PopulationCount>,
    .batch = elementwise_batch<population_count_op>,
    .emit = elementwise_emit<PopulationCount>,
    .not_differentiable = discrete,
};

const Op count_leading_zeros_op = {
    .name = "count_leading_zeros",
    .kind = OpKind::Elementwise,
    .shape = elementwise_shape<CountLeadingZeros>,
    .evaluate = elementwise_evaluate<CountLeadingZeros>,
    .batch = elementwise_batch<count_leading_zeros_op>,
    .emit = elementwise_emit<CountLeadingZeros>,
    .not_differentiable = discrete,
};

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

namespace {

Array logical(const Op& op, const char* name, const Array& a, const Array& b, Loc loc) {
  const Operands o = matched(name, truth(a), truth(b), loc);
  return bind1(op, {}, {o.a, o.b}, loc);
}

}  // namespace

Array logical_and(const Array& a, const Array& b, Loc loc) {
  return logical(bit_and_op, "logical_and", a, b, loc);
}
Array logical_or(const Array& a, const Array& b, Loc loc) {
  return logical(bit_or_op, "logical_or", a, b, loc);
}
Array logical_xor(const Array& a, const Array& b, Loc loc) {
  return logical(bit_xor_op, "logical_xor", a, b, loc);
}
Array logical_not(const Array& a, Loc loc) { return bind1(bit_not_op, {}, {truth(a)}, loc); }

Array operator&(const Operand& a, const Operand& b) {
  return bind_matched(bit_and_op, bit_dtypes, a.array, b.array, a.loc);
}
Array operator|(const Operand& a, const Operand& b) {
  return bind_matched(bit_or_op, bit_dtypes, a.array, b.array, a.loc);
}
Array operator^(const Operand& a, const Operand& b) {
  return bind_matched(bit_xor_op, bit_dtypes, a.array, b.array, a.loc);
}
Array operator~(const Operand& a) {
  check_dtype("bit_not", bit_dtypes, a.array.aval(), a.loc);
  return bind1(bit_not_op, {}, {a.array}, a.loc);
}
Array operator<<(const Operand& a, const Operand& count) {
  return bind_matched(shift_left_op, integer_dtypes, a.array, count.array, a.loc);
}
Array operator>>(const Operand& a, const Operand& count) {
  const Operands o = matched("shift_right", a.array, count.array, a.loc);
  check_dtype("shift_right", integer_dtypes, o.a.aval(), a.loc);
  const Op& op = is_signed_integer(o.a.dtype()) ? shift_right_arithmetic_op : shift_right_logical_op;
  return bind1(op, {}, {o.a, o.b}, a.loc);
}

Array population_count(const Array& x, Loc loc) {
  check_dtype("population_count", integer_dtypes, x.aval(), loc);
  return bind1(population_count_op, {}, {x}, loc);
}
Array count_leading_zeros(const Array& x, Loc loc) {
  check_dtype("count_leading_zeros", integer_dtypes, x.aval(), loc);
  return bind1(count_leading_zeros_op, {}, {x}, loc);
}

}  // namespace apsis
