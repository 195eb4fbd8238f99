// Trigonometric functions and their inverses.

#include "apsis/ops/math.hpp"
#include "ops/complex.hpp"
#include "ops/elementary.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

APSIS_ELEMENTARY(Sin, sin)
APSIS_ELEMENTARY(Cos, cos)
APSIS_ELEMENTARY(Tan, tan)
APSIS_ELEMENTARY(Asin, asin)
APSIS_ELEMENTARY(Acos, acos)
APSIS_ELEMENTARY(Atan, atan)
APSIS_ELEMENTARY_BINARY(Atan2, atan2, true)

Array sin_derivative(const Array& x, const Array&) { return apply(cos_op, x); }
Array cos_derivative(const Array& x, const Array&) { return lax::neg(apply(sin_op, x)); }
Array tan_derivative(const Array&, const Array& result) { return plus(squared(result), 1); }
// 1 / sqrt(1 - x²), factored, since 1 - x² cancels near ±1.
Array asin_derivative(const Array& x, const Array&) {
  return apply(rsqrt_op, lax::mul(from_constant(1, x), plus(x, 1)));
}
Array acos_derivative(const Array& x, const Array& y) { return lax::neg(asin_derivative(x, y)); }
Array atan_derivative(const Array& x, const Array&) { return reciprocal(plus(squared(x), 1)); }

// atan2(y, x): the square of the radius divides.
Array atan2_by_y(const Array& y, const Array& x, const Array&) {
  return lax::div(x, lax::add(squared(y), squared(x)));
}
Array atan2_by_x(const Array& y, const Array& x, const Array&) {
  return lax::div(lax::neg(y), lax::add(squared(y), squared(x)));
}

}  // namespace

constinit const Op sin_op =
    elementwise_op<Sin, sin_op>(unary_jvp<sin_op, sin_derivative>, by_parts<parts::sin>);
constinit const Op cos_op =
    elementwise_op<Cos, cos_op>(unary_jvp<cos_op, cos_derivative>, by_parts<parts::cos>);
constinit const Op tan_op =
    elementwise_op<Tan, tan_op>(unary_jvp<tan_op, tan_derivative>, by_parts<parts::tan>);
constinit const Op asin_op =
    elementwise_op<Asin, asin_op>(unary_jvp<asin_op, asin_derivative>, by_parts<parts::asin>);
constinit const Op acos_op =
    elementwise_op<Acos, acos_op>(unary_jvp<acos_op, acos_derivative>, by_parts<parts::acos>);
constinit const Op atan_op =
    elementwise_op<Atan, atan_op>(unary_jvp<atan_op, atan_derivative>, by_parts<parts::atan>);
constinit const Op atan2_op = elementwise_op<Atan2, atan2_op>(binary_jvp<atan2_op, atan2_by_y, atan2_by_x>);

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array sin(const Array& x, Loc loc) { return bind_floating(sin_op, x, loc); }
Array cos(const Array& x, Loc loc) { return bind_floating(cos_op, x, loc); }
Array tan(const Array& x, Loc loc) { return bind_floating(tan_op, x, loc); }
Array asin(const Array& x, Loc loc) { return bind_floating(asin_op, x, loc); }
Array acos(const Array& x, Loc loc) { return bind_floating(acos_op, x, loc); }
Array atan(const Array& x, Loc loc) { return bind_floating(atan_op, x, loc); }
Array atan2(const Array& y, const Array& x, Loc loc) { return bind_floating(atan2_op, y, x, loc); }

}  // namespace apsis
