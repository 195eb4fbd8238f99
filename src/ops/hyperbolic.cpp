// Hyperbolic functions and their inverses.

#include "apsis/ops/math.hpp"
#include "ops/complex.hpp"
#include "ops/elementary.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

APSIS_ELEMENTARY(Sinh, sinh)
APSIS_ELEMENTARY(Cosh, cosh)
APSIS_ELEMENTARY(Tanh, tanh)
APSIS_ELEMENTARY(Asinh, asinh)
APSIS_ELEMENTARY(Acosh, acosh)
APSIS_ELEMENTARY(Atanh, atanh)

Array sinh_derivative(const Array& x, const Array&) { return apply(cosh_op, x); }
Array cosh_derivative(const Array& x, const Array&) { return apply(sinh_op, x); }
// (1 + y)(1 - y): 1 - y² would lose the digits near saturation.
Array tanh_derivative(const Array&, const Array& result) {
  return lax::mul(plus(result, 1), from_constant(1, result));
}
Array asinh_derivative(const Array& x, const Array&) { return apply(rsqrt_op, plus(squared(x), 1)); }
Array acosh_derivative(const Array& x, const Array&) {
  return lax::mul(apply(rsqrt_op, plus(x, -1)), apply(rsqrt_op, plus(x, 1)));
}
Array atanh_derivative(const Array& x, const Array&) {
  return reciprocal(lax::mul(plus(x, 1), from_constant(1, x)));
}

}  // namespace

constinit const Op sinh_op =
    elementwise_op<Sinh, sinh_op>(unary_jvp<sinh_op, sinh_derivative>, by_parts<parts::sinh>);
constinit const Op cosh_op =
    elementwise_op<Cosh, cosh_op>(unary_jvp<cosh_op, cosh_derivative>, by_parts<parts::cosh>);
constinit const Op tanh_op =
    elementwise_op<Tanh, tanh_op>(unary_jvp<tanh_op, tanh_derivative>, by_parts<parts::tanh>);
constinit const Op asinh_op =
    elementwise_op<Asinh, asinh_op>(unary_jvp<asinh_op, asinh_derivative>, by_parts<parts::asinh>);
constinit const Op acosh_op =
    elementwise_op<Acosh, acosh_op>(unary_jvp<acosh_op, acosh_derivative>, by_parts<parts::acosh>);
constinit const Op atanh_op =
    elementwise_op<Atanh, atanh_op>(unary_jvp<atanh_op, atanh_derivative>, by_parts<parts::atanh>);

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array sinh(const Array& x, Loc loc) { return bind_floating(sinh_op, x, loc); }
Array cosh(const Array& x, Loc loc) { return bind_floating(cosh_op, x, loc); }
Array tanh(const Array& x, Loc loc) { return bind_floating(tanh_op, x, loc); }
Array asinh(const Array& x, Loc loc) { return bind_floating(asinh_op, x, loc); }
Array acosh(const Array& x, Loc loc) { return bind_floating(acosh_op, x, loc); }
Array atanh(const Array& x, Loc loc) { return bind_floating(atanh_op, x, loc); }

}  // namespace apsis
