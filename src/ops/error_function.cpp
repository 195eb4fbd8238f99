// The error function, its complement and its inverse.

#include <numbers>

#include "apsis/ops/math.hpp"
#include "ops/elementary.hpp"
#include "ops/operands.hpp"

namespace apsis::detail {
namespace {

APSIS_ELEMENTARY(Erf, erf)
APSIS_ELEMENTARY(Erfc, erfc)
APSIS_ELEMENTARY(ErfInv, erf_inv)

constexpr double two_over_root_pi = 2 * std::numbers::inv_sqrtpi;

Array gauss(const Array& x) { return apply(exp_op, lax::neg(squared(x))); }
Array erf_derivative(const Array& x, const Array&) { return scaled(gauss(x), two_over_root_pi); }
Array erfc_derivative(const Array& x, const Array&) { return scaled(gauss(x), -two_over_root_pi); }
Array erf_inv_derivative(const Array&, const Array& result) {
  return scaled(apply(exp_op, squared(result)), 1 / two_over_root_pi);
}

}  // namespace

constinit const Op erf_op = elementwise_op<Erf, erf_op>(unary_jvp<erf_op, erf_derivative>);
constinit const Op erfc_op = elementwise_op<Erfc, erfc_op>(unary_jvp<erfc_op, erfc_derivative>);
constinit const Op erf_inv_op = elementwise_op<ErfInv, erf_inv_op>(unary_jvp<erf_inv_op, erf_inv_derivative>);

}  // namespace apsis::detail

namespace apsis {

using namespace detail;

Array erf(const Array& x, Loc loc) { return bind_floating(erf_op, x, loc); }
Array erfc(const Array& x, Loc loc) { return bind_floating(erfc_op, x, loc); }
Array erf_inv(const Array& x, Loc loc) { return bind_floating(erf_inv_op, x, loc); }

}  // namespace apsis
