// Exponentials and logarithms.

#include <numbers>

#include "apsis/ops/math.hpp"
#include "ops/complex.hpp"
#include "ops/elementary.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

APSIS_ELEMENTARY(Exp, exp)
APSIS_ELEMENTARY(Exp2, exp2)
APSIS_ELEMENTARY(Expm1, expm1)
APSIS_ELEMENTARY(Log, log)
APSIS_ELEMENTARY(Log1p, log1p)
APSIS_ELEMENTARY(Log1mexp, log1mexp)
APSIS_ELEMENTARY(Log2, log2)
APSIS_ELEMENTARY(Log10, log10)
APSIS_ELEMENTARY(Logistic, logistic)

struct LogAddExp : Binary {
  static constexpr const char* name = "logaddexp";
  static constexpr DtypeSet dtypes = float_dtypes;
  static constexpr bool elementary = true;
  template <class M>
  static auto compute(const M& m, auto x, auto y) {
    const math::Real<M> a{m, x}, b{m, y};
    const auto difference = a - b;
    const auto larger = select(a > b, a, b);
    // Equal infinities, whose difference is NaN, add up to themselves.
    return select(difference == difference, larger + math::log1p(math::exp(-abs(difference))), a + b).v;
  }
};

Array exp_derivative(const Array&, const Array& result) { return result; }
Array exp2_derivative(const Array&, const Array& result) { return scaled(result, std::numbers::ln2); }
Array expm1_derivative(const Array&, const Array& result) { return plus(result, 1); }
Array log_derivative(const Array& x, const Array&) { return reciprocal(x); }
Array log1p_derivative(const Array& x, const Array&) { return reciprocal(plus(x, 1)); }
// e^-x / (1 - e^-x) in a form whose own derivatives are finite wherever they should be.
Array log1mexp_derivative(const Array& x, const Array&) {
  const Array negative = lax::neg(x);
  return lax::div(apply(exp_op, negative), lax::neg(apply(expm1_op, negative)));
}
Array log2_derivative(const Array& x, const Array&) { return reciprocal(scaled(x, std::numbers::ln2)); }
Array log10_derivative(const Array& x, const Array&) { return reciprocal(scaled(x, std::numbers::ln10)); }
Array logistic_derivative(const Array&, const Array& result) {
  return lax::mul(result, from_constant(1, result));
}

// exp(x - result), where +inf counts as 0 as in JAX.
Array logaddexp_share(const Array& x, const Array& result) {
  const Array infinity = constant_like(x, std::numeric_limits<double>::infinity()),
              zero = constant_like(x, 0);
  auto finite = [&](const Array& a) { return lax::select(lax::eq(a, infinity), zero, a); };
  return apply(exp_op, lax::sub(finite(x), finite(result)));
}
Array logaddexp_by_first(const Array& x, const Array&, const Array& result) {
  return logaddexp_share(x, result);
}
Array logaddexp_by_second(const Array&, const Array& y, const Array& result) {
  return logaddexp_share(y, result);
}

}  // namespace

constinit const Op exp_op =
    elementwise_op<Exp, exp_op>(unary_jvp<exp_op, exp_derivative>, by_parts<parts::exp>);
constinit const Op exp2_op =
    elementwise_op<Exp2, exp2_op>(unary_jvp<exp2_op, exp2_derivative>, by_parts<parts::exp2>);
constinit const Op expm1_op =
    elementwise_op<Expm1, expm1_op>(unary_jvp<expm1_op, expm1_derivative>, by_parts<parts::expm1>);
constinit const Op log_op =
    elementwise_op<Log, log_op>(unary_jvp<log_op, log_derivative>, by_parts<parts::log>);
constinit const Op log1p_op =
    elementwise_op<Log1p, log1p_op>(unary_jvp<log1p_op, log1p_derivative>, by_parts<parts::log1p>);
constinit const Op log1mexp_op =
    elementwise_op<Log1mexp, log1mexp_op>(unary_jvp<log1mexp_op, log1mexp_derivative>);
constinit const Op log2_op =
    elementwise_op<Log2, log2_op>(unary_jvp<log2_op, log2_derivative>, by_parts<parts::log2>);
constinit const Op log10_op =
    elementwise_op<Log10, log10_op>(unary_jvp<log10_op, log10_derivative>, by_parts<parts::log10>);
constinit const Op logaddexp_op = elementwise_op<LogAddExp, logaddexp_op>(
    binary_jvp<logaddexp_op, logaddexp_by_first, logaddexp_by_second>);
constinit const Op logistic_op = elementwise_op<Logistic, logistic_op>(
    unary_jvp<logistic_op, logistic_derivative>, by_parts<parts::logistic>);

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array exp(const Array& x, Loc loc) { return bind_floating(exp_op, x, loc); }
Array exp2(const Array& x, Loc loc) { return bind_floating(exp2_op, x, loc); }
Array expm1(const Array& x, Loc loc) { return bind_floating(expm1_op, x, loc); }
Array log(const Array& x, Loc loc) { return bind_floating(log_op, x, loc); }
Array log2(const Array& x, Loc loc) { return bind_floating(log2_op, x, loc); }
Array log10(const Array& x, Loc loc) { return bind_floating(log10_op, x, loc); }
Array log1p(const Array& x, Loc loc) { return bind_floating(log1p_op, x, loc); }
Array log1mexp(const Array& x, Loc loc) { return bind_floating(log1mexp_op, x, loc); }
Array logistic(const Array& x, Loc loc) { return bind_floating(logistic_op, x, loc); }
Array logaddexp(const Array& x, const Array& y, Loc loc) { return bind_floating(logaddexp_op, x, y, loc); }

}  // namespace apsis
