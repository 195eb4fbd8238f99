#include "apsis/nn/activation.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "nn/messages.hpp"

namespace apsis::nn {
namespace {
void check_axis(const char* where, const Array& x, int axis, Loc loc) {
  const int rank = x.ndim(loc);
  if (axis < -rank || axis >= rank)
    fail(messages::activation_axis, {where, std::to_string(axis), to_string(x.aval())}, loc);
}
}  // namespace

Array identity(const Array& x) { return x; }
Array relu(const Array& x) { return where(x > 0, x, 0); }
Array leaky_relu(const Array& x, const Array& slope, Loc loc) {
  const LocScope place(loc);
  return where(x > 0, x, slope * x);
}
// The branch not taken sees 0, so that its derivative stays finite.
Array elu(const Array& x) { return where(x > 0, x, expm1(where(x > 0, 0, x))); }
Array softplus(const Array& x) { return maximum(x, 0) + log1p(exp(-abs(x))); }
Array sigmoid(const Array& x) { return logistic(x); }
Array tanh(const Array& x) { return apsis::tanh(x); }
Array silu(const Array& x) { return x * logistic(x); }
Array gelu(const Array& x) { return x * (0.5 * erfc(x * -0.70710678118654752440)); }

Array softmax(const Array& x, int axis, Loc loc) {
  const LocScope place(loc);
  check_axis("softmax", x, axis, loc);
  Array e = exp(x - stop_gradient(max(x, {.axis = axis, .keepdims = true})));
  return e / sum(e, {.axis = axis, .keepdims = true});
}

Array log_softmax(const Array& x, int axis, Loc loc) {
  const LocScope place(loc);
  check_axis("log_softmax", x, axis, loc);
  Array shifted = x - stop_gradient(max(x, {.axis = axis, .keepdims = true}));
  return shifted - log(sum(exp(shifted), {.axis = axis, .keepdims = true}));
}

}  // namespace apsis::nn
