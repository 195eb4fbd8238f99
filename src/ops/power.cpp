// Roots and powers.

#include "apsis/ops/math.hpp"
#include "ops/complex.hpp"
#include "ops/elementary.hpp"
#include "ops/operands.hpp"
#include "ops/power_params.hpp"

namespace apsis::detail {
namespace {

struct Sqrt : Unary {
  static constexpr const char* name = "sqrt";
  static constexpr DtypeSet dtypes = float_dtypes;
  static auto compute(const auto& m, auto x) { return m.sqrt(x); }
};
APSIS_ELEMENTARY(Rsqrt, rsqrt)
APSIS_ELEMENTARY(Cbrt, cbrt)
// An infinite side hides a NaN.
APSIS_ELEMENTARY_BINARY(Hypot, hypot, false)

// Integers: binary powers, wrapping; 0 where the power is a fraction.
struct Pow : Binary {
  static constexpr const char* name = "pow";
  static constexpr bool spreads_nan = false;  // 1 to the power of anything is 1
  static constexpr const char* library_name = "apsis_pow";
  static constexpr DtypeSet dtypes = number_dtypes;
  static constexpr bool elementary = true;
  template <class M, class V>
  static V compute(const M& m, V x, V y) {
    using T = typename M::Scalar;
    if constexpr (std::is_floating_point_v<T>) {
      return math::pow(math::Real<M>{m, x}, math::Real<M>{m, y}).v;
    } else {
      const V zero = m.constant(T(0)), one = m.constant(T(1));
      V power = one, base = x, left = y;
      for (std::size_t bit = 0; bit < sizeof(T) * 8; ++bit) {
        power = m.select(m.ne(m.and_(left, one), zero), m.mul(power, base), power);
        base = m.mul(base, base);
        left = m.shift_right_logical(left, one);
      }
      if constexpr (M::is_signed) {
        auto whole = m.or_(m.ge(y, zero), m.or_(m.eq(x, one), m.eq(x, m.constant(T(-1)))));
        return m.select(whole, power, zero);
      } else {
        return power;
      }
    }
  }
};

// Binary powers, as JAX rounds them: squares, products of those whose bit is set, and a reciprocal at the
// end.
struct IntegerPow : Unary {
  static constexpr const char* name = "integer_pow";
  static constexpr DtypeSet dtypes = number_dtypes;
  template <class M, class V>
  static V compute(const M& m, V x, const Params& params) {
    using T = typename M::Scalar;
    std::int64_t n = params.as<IntegerPowParams>().n;
    if (n == 0) return m.constant(T(1));
    auto bits = n < 0 ? std::uint64_t(0) - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
    V power = x;
    while ((bits & 1) == 0) {
      power = m.mul(power, power);
      bits >>= 1;
    }
    V square = power;
    while (bits >>= 1) {
      square = m.mul(square, square);
      if (bits & 1) power = m.mul(power, square);
    }
    if constexpr (M::is_float) {
      if (n < 0) return m.div(m.constant(T(1)), power);
    }
    return power;
  }
};

void integer_pow_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const std::int64_t n = params.as<IntegerPowParams>().n;
  out.push_back(elementwise_aval(IntegerPow::name, 1, IntegerPow::dtypes, false, in));
  APSIS_ASSERT(n > std::numeric_limits<std::int64_t>::min());  // -n is a number, too
  if (n < 0 && !is_floating(in[0].dtype()))
    fail(messages::negative_integer_power, {to_string(in[0]), std::to_string(n)});
}

Array integer_pow(const Array& x, std::int64_t n) {
  return n == 1 ? x : bind1(integer_pow_op, make_params(IntegerPowParams{n}), {x});
}

void integer_pow_of_complex(const Params& params, std::span<const Array> in, std::span<Array> out) {
  out[0] = joined(parts::integer_pow(parts_of(in[0]), params.as<IntegerPowParams>().n));
}

void integer_pow_jvp(const JvpRule& r) {
  const std::int64_t n = r.params.as<IntegerPowParams>().n;
  bind(integer_pow_op, r.params, r.primals, r.outs);
  if (n == 0) return;
  Array derivative = scaled(integer_pow(r.primals[0], n - 1), static_cast<double>(n));
  r.out_tangents[0] = lax::mul(r.tangents[0], derivative);
}

Array sqrt_derivative(const Array& x, const Array& result) { return lax::div(constant_like(x, 0.5), result); }
Array rsqrt_derivative(const Array& x, const Array& result) { return scaled(lax::div(result, x), -0.5); }
Array cbrt_derivative(const Array&, const Array& result) { return scaled(integer_pow(result, -2), 1.0 / 3); }

// At the origin, where every direction has another slope, 0.
Array hypot_part(const Array& x, const Array& result) {
  Array zero = constant_like(x, 0);
  return lax::div(x, lax::select(lax::eq(result, zero), constant_like(x, 1), result));
}
Array hypot_by_first(const Array& x, const Array&, const Array& result) { return hypot_part(x, result); }
Array hypot_by_second(const Array&, const Array& y, const Array& result) { return hypot_part(y, result); }

// y xʸ⁻¹. At x = 0 and y = 0, where xʸ is 1 whatever x is, 0·0⁰ rather than 0·0⁻¹: so are all further
// derivatives, which meet y - 1, y - 2, … there.
Array pow_by_base(const Array& x, const Array& y, const Array&) {
  const Array zero = constant_like(x, 0);
  const Array constant = lax::logical_and(lax::eq(x, zero), lax::eq(y, zero));
  const Array exponent = lax::select(constant, constant_like(x, 1), y);
  return lax::mul(y, bind1(pow_op, {}, {x, plus(exponent, -1)}));
}
// log(x) xʸ, which is 0 at x = 0.
Array pow_by_exponent(const Array& x, const Array&, const Array& result) {
  Array base = lax::select(lax::eq(x, constant_like(x, 0)), constant_like(x, 1), x);
  return lax::mul(apply(log_op, base), result);
}

}  // namespace

constinit const Op sqrt_op =
    elementwise_op<Sqrt, sqrt_op>(unary_jvp<sqrt_op, sqrt_derivative>, by_parts<parts::sqrt>);
constinit const Op rsqrt_op =
    elementwise_op<Rsqrt, rsqrt_op>(unary_jvp<rsqrt_op, rsqrt_derivative>, by_parts<parts::rsqrt>);
constinit const Op cbrt_op = elementwise_op<Cbrt, cbrt_op>(unary_jvp<cbrt_op, cbrt_derivative>);
constinit const Op hypot_op =
    elementwise_op<Hypot, hypot_op>(binary_jvp<hypot_op, hypot_by_first, hypot_by_second>);
constinit const Op pow_op =
    elementwise_op<Pow, pow_op>(binary_jvp<pow_op, pow_by_base, pow_by_exponent>, by_parts<parts::pow>);

const Op integer_pow_op = {
    .name = IntegerPow::name,
    .kind = OpKind::Elementwise,
    .shape = integer_pow_shape,
    .evaluate = elementwise_evaluate<IntegerPow>,
    .of_complex = integer_pow_of_complex,
    .jvp = integer_pow_jvp,
    .batch = elementwise_batch<integer_pow_op>,
    .emit = elementwise_emit<IntegerPow>,
    .parse = parse_params<IntegerPowParams>,
};

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array sqrt(const Array& x, Loc loc) { return bind_floating(sqrt_op, x, loc); }
Array rsqrt(const Array& x, Loc loc) { return bind_floating(rsqrt_op, x, loc); }
Array cbrt(const Array& x, Loc loc) { return bind_floating(cbrt_op, x, loc); }
Array hypot(const Array& x, const Array& y, Loc loc) { return bind_floating(hypot_op, x, y, loc); }

namespace {

// A C++ integer as exponent: the number itself.
bool literal_exponent(const Array& y, std::int64_t& n) {
  if (!y.node() || !y.node()->literal || !y.weak() || !is_integer(y.dtype())) return false;
  n = *static_cast<const std::int64_t*>(data_of(y));
  return true;
}

}  // namespace

Array pow(const Array& x, const Array& y, Loc loc) {
  std::int64_t n;
  if (!literal_exponent(y, n)) return bind_matched(pow_op, number_dtypes, x, y, loc);
  check_operand(integer_pow_op, number_dtypes, x, loc);
  if (n < 0 && is_integer(x.dtype()))
    fail(messages::negative_integer_power, {to_string(x.aval()), std::to_string(n)}, loc);
  if (n == 1) return x;
  if (n == 2) return bind1(mul_op, {}, {x, x}, loc);
  return bind1(integer_pow_op, make_params(IntegerPowParams{n}), {x}, loc);
}

}  // namespace apsis
