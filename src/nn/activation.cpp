#include "apsis/nn/activation.hpp"

#include <algorithm>
#include <cmath>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
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
Array celu(const Array& x, const Array& alpha, Loc loc) {
  const LocScope place(loc);
  return maximum(x, 0) + alpha * expm1(minimum(x, 0) / alpha);
}
Array selu(const Array& x) {
  return 1.0507009873554804934193 * where(x > 0, x, 1.6732632423543772848170 * expm1(where(x > 0, 0, x)));
}
Array relu6(const Array& x) { return minimum(maximum(x, 0), 6); }
Array softplus(const Array& x) { return logaddexp(x, 0.); }
Array sigmoid(const Array& x) { return logistic(x); }
Array tanh(const Array& x) { return apsis::tanh(x); }
Array silu(const Array& x) { return x * logistic(x); }
Array gelu(const Array& x) { return x * (0.5 * erfc(x * -0.70710678118654752440)); }
Array gelu_tanh(const Array& x) {
  return x * (0.5 * (1. + apsis::tanh(0.79788456080286535588 * (x + 0.044715 * (x * x * x)))));
}
Array mish(const Array& x) { return x * apsis::tanh(softplus(x)); }
Array log_sigmoid(const Array& x) { return -softplus(-x); }
Array soft_sign(const Array& x) { return x / (abs(x) + 1); }
Array squareplus(const Array& x, const Array& b, Loc loc) {
  const LocScope place(loc);
  return 0.5 * (x + sqrt(square(x) + b));
}
Array hard_tanh(const Array& x) { return where(x > 1, 1, where(x < -1, -1, x)); }
Array hard_sigmoid(const Array& x) { return relu6(x + 3.) / 6.; }
Array hard_silu(const Array& x) { return x * hard_sigmoid(x); }
Array sparse_plus(const Array& x) { return where(x <= -1, 0, where(x >= 1, x, 0.25 * square(x + 1.))); }
Array sparse_sigmoid(const Array& x) { return 0.5 * clip(x + 1., 0, 2); }

Array glu(const Array& x, int axis, Loc loc) {
  const LocScope place(loc);
  check_axis("glu", x, axis, loc);
  const std::vector<Array> halves = split(x, 2, axis);
  return halves[0] * logistic(halves[1]);
}

Array softmax(const Array& x, int axis, Loc loc) {
  const LocScope place(loc);
  check_axis("softmax", x, axis, loc);
  if (x.size() == 0) return exp(x);
  Array e = exp(x - stop_gradient(max(x, {.axis = axis, .keepdims = true})));
  return e / sum(e, {.axis = axis, .keepdims = true});
}

Array log_softmax(const Array& x, int axis, Loc loc) {
  const LocScope place(loc);
  check_axis("log_softmax", x, axis, loc);
  if (x.size() == 0) return exp(x);
  Array shifted = x - stop_gradient(max(x, {.axis = axis, .keepdims = true}));
  return shifted - log(sum(exp(shifted), {.axis = axis, .keepdims = true}));
}

Array logmeanexp(const Array& x, const ReduceOptions& options, Loc loc) {
  const LocScope place(loc);
  detail::check_options("logmeanexp", x, options, {}, loc);
  const Array sum = logsumexp(x, options);
  return sum -
         std::log(static_cast<double>(x.size()) / static_cast<double>(std::max<std::int64_t>(sum.size(), 1)));
}

Array standardize(const Array& x, const StandardizeOptions& options, Loc loc) {
  const LocScope place(loc);
  const ReduceOptions along{options.axis, true};
  const Array centre = options.mean.is_empty() ? apsis::mean(x, along) : options.mean;
  const Array deviation = x - centre;
  const Array spread = options.variance.is_empty() ? apsis::mean(square(deviation), along) : options.variance;
  return deviation * rsqrt(spread + options.epsilon);
}

Array one_hot(const Array& x, std::int64_t n, Dtype dtype, int axis, Loc loc) {
  const LocScope place(loc);
  const int rank = x.ndim() + 1;
  if (axis < -rank || axis >= rank)
    fail(messages::activation_axis, {"one_hot", std::to_string(axis), to_string(x.aval())}, loc);
  const int along = axis < 0 ? axis + rank : axis;
  Shape shape = x.shape();
  shape.insert(static_cast<std::size_t>(along), n);
  return astype(expand_dims(x, along) == iota(shape, along, x.dtype() == boolean ? i64 : x.dtype()), dtype);
}

}  // namespace apsis::nn
