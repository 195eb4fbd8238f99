#include "apsis/nn/initializers.hpp"

#include <cmath>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/random.hpp"
#include "nn/messages.hpp"

namespace apsis::nn {
namespace {

/// The product of the sizes of some axes.
double sizes(const Axes& axes, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  double product = 1;
  for (std::int64_t axis : axes.list) {
    if (axis < -rank || axis >= rank) fail(messages::fan_axes, {to_string(shape), std::to_string(axis)});
    product *= static_cast<double>(shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
  }
  return product;
}

/// What the variance is divided by, as jax.nn.initializers counts it.
double fan(FanMode mode, const Shape& shape, const FanAxes& axes) {
  const double in = sizes(axes.in, shape), out = sizes(axes.out, shape), batch = sizes(axes.batch, shape);
  const double places = static_cast<double>(shape.product()) / in / out / batch;
  const double fan_in = in * places, fan_out = out * places;
  switch (mode) {
    case FanMode::In:
      return fan_in;
    case FanMode::Out:
      return fan_out;
    case FanMode::Average:
      return (fan_in + fan_out) / 2;
    case FanMode::GeometricAverage:
      return std::sqrt(fan_in * fan_out);
  }
  APSIS_ASSERT(false);
}

struct Draw {
  const Array& key;
  const Shape& shape;
  Dtype dtype;
  const FanAxes& axes;

  Array operator()(Initializer::Function f) const { return f(key, shape, dtype); }
  Array operator()(const Initializer::Constant& c) const { return full(shape, c.value, dtype); }
  Array operator()(const Initializer::Uniform& u) const {
    return random::uniform(key, shape, dtype) * Array(u.scale, dtype);
  }
  Array operator()(const Initializer::Normal& n) const {
    return random::normal(key, shape, dtype) * Array(n.stddev, dtype);
  }
  Array operator()(const Initializer::TruncatedNormal& n) const {
    return random::truncated_normal(key, n.lower, n.upper, shape, dtype) * Array(n.stddev, dtype);
  }
  // Constants are rounded to the dtype where JAX rounds them.
  Array operator()(const Initializer::VarianceScaling& v) const {
    const Array variance(v.scale / fan(v.mode, shape, v.axes ? *v.axes : axes), dtype);
    if (v.distribution == Distribution::Uniform)
      return random::uniform(key, shape, dtype, -1., 1.) * sqrt(3 * variance);
    if (v.distribution == Distribution::Normal) return random::normal(key, shape, dtype) * sqrt(variance);
    // The standard deviation of a standard normal number between -2 and 2.
    constexpr double truncated = .87962566103423978;
    return random::truncated_normal(key, -2, 2, shape, dtype) * (sqrt(variance) / Array(truncated, dtype));
  }
};

}  // namespace

Array Initializer::operator()(const Array& key, const Shape& shape, Dtype dtype, const FanAxes& axes,
                              Loc loc) const {
  const LocScope place(loc);
  return std::visit(Draw{key, shape, dtype, axes}, draw_);
}

namespace initializers {

Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer constant(double value) { return Initializer(Initializer::Constant{value}); }
Initializer uniform(double scale) { return Initializer(Initializer::Uniform{scale}); }
Initializer normal(double stddev) { return Initializer(Initializer::Normal{stddev}); }
Initializer truncated_normal(double stddev, double lower, double upper) {
  return Initializer(Initializer::TruncatedNormal{stddev, lower, upper});
}
Initializer variance_scaling(double scale, FanMode mode, Distribution distribution,
                             const std::optional<FanAxes>& axes) {
  return Initializer(Initializer::VarianceScaling{scale, mode, distribution, axes});
}

Initializer lecun_normal(const std::optional<FanAxes>& axes) {
  return variance_scaling(1, FanMode::In, Distribution::TruncatedNormal, axes);
}
Initializer lecun_uniform(const std::optional<FanAxes>& axes) {
  return variance_scaling(1, FanMode::In, Distribution::Uniform, axes);
}
Initializer glorot_normal(const std::optional<FanAxes>& axes) {
  return variance_scaling(1, FanMode::Average, Distribution::TruncatedNormal, axes);
}
Initializer glorot_uniform(const std::optional<FanAxes>& axes) {
  return variance_scaling(1, FanMode::Average, Distribution::Uniform, axes);
}
Initializer he_normal(const std::optional<FanAxes>& axes) {
  return variance_scaling(2, FanMode::In, Distribution::TruncatedNormal, axes);
}
Initializer he_uniform(const std::optional<FanAxes>& axes) {
  return variance_scaling(2, FanMode::In, Distribution::Uniform, axes);
}

}  // namespace initializers
}  // namespace apsis::nn
