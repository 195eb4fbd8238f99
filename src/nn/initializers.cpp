#include "apsis/nn/initializers.hpp"

#include <cmath>

#include "apsis/array/creation.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/index.hpp"
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

/// Constants are rounded to the dtype where JAX rounds them.
Array scaled_variance(const Array& key, const Shape& shape, Dtype dtype, double variance_of_all,
                      Distribution distribution) {
  const Array variance(variance_of_all, dtype);
  if (distribution == Distribution::Uniform)
    return random::uniform(key, shape, dtype, -1., 1.) * sqrt(3 * variance);
  if (distribution == Distribution::Normal) return random::normal(key, shape, dtype) * sqrt(variance);
  // The standard deviation of a standard normal number between -2 and 2.
  constexpr double truncated = .87962566103423978;
  return random::truncated_normal(key, -2, 2, shape, dtype) * (sqrt(variance) / Array(truncated, dtype));
}

/// The one axis that counts inputs or outputs, from the front.
std::size_t axis_of(const char* name, const char* what, const Axes& axes, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axes.all || axes.list.size() != 1) fail(messages::orthogonal_axes, {name, what});
  const std::int64_t axis = axes.list[0];
  if (axis < -rank || axis >= rank) fail(messages::fan_axes, {to_string(shape), std::to_string(axis)});
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// [rows, columns] with orthonormal columns, or rows if they are fewer: Q of a normal matrix, with the signs
/// that make it uniform (Mezzadri, How to generate random matrices from the classical compact groups, 2007).
Array orthogonal_matrix(const Array& key, std::int64_t rows, std::int64_t columns, Dtype dtype) {
  const bool tall = rows > columns;
  const auto [q, r] = linalg::qr(random::normal(key, {tall ? rows : columns, tall ? columns : rows}, dtype));
  const Array signed_q = q * sign(diagonal(r));
  return rows < columns ? transpose(signed_q) : signed_q;
}

Array orthogonal_weights(const Array& key, const Shape& shape, Dtype dtype, const FanAxes& axes) {
  if (shape.size() < 2) fail(messages::orthogonal_rank, {"orthogonal", to_string(shape), "two axes"});
  const std::size_t out = axis_of("orthogonal", "outputs", axes.out, shape);
  Shape rest = shape;
  rest.erase(out);
  if (shape.product() == 0) return apsis::zeros(shape, dtype);
  Array q = orthogonal_matrix(key, rest.product(), shape[out], dtype);
  rest.push_back(shape[out]);
  return moveaxis(reshape(q, rest), -1, static_cast<int>(out));
}

Array delta_orthogonal_weights(const Array& key, const Shape& shape, Dtype dtype, const FanAxes& axes) {
  if (shape.size() < 3)
    fail(messages::orthogonal_rank,
         {"delta_orthogonal", to_string(shape), "three axes, of which one is along the kernel"});
  const std::size_t in = axis_of("delta_orthogonal", "inputs", axes.in, shape),
                    out = axis_of("delta_orthogonal", "outputs", axes.out, shape);
  if (shape[in] > shape[out])
    fail(messages::delta_orthogonal_sizes, {std::to_string(shape[in]), std::to_string(shape[out])});
  if (shape.product() == 0) return apsis::zeros(shape, dtype);
  const Array q = orthogonal_matrix(key, shape[in], shape[out], dtype);
  // q with axes of size 1 along the kernel, and as many zeros around these as the kernel is longer.
  Shape centre = Shape::filled(shape.size(), 1);
  centre[in] = shape[in];
  centre[out] = shape[out];
  Shape before, behind;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t more = shape[i] - centre[i];
    before.push_back(more / 2);
    behind.push_back(more - more / 2);
  }
  return pad(reshape(in < out ? q : transpose(q), centre), before, behind);
}

}  // namespace

Array Initializer::operator()(const Array& key, const Shape& shape, Dtype dtype, const FanAxes& axes,
                              Loc loc) const {
  const LocScope place(loc);
  if (function_) return function_(key, shape, dtype);
  const Array scale(kind_.scale, dtype);
  switch (kind_.name) {
    case Kind::Constant:
      return full(shape, scale, dtype);
    case Kind::Uniform:
      return random::uniform(key, shape, dtype) * scale;
    case Kind::Normal:
      return random::normal(key, shape, dtype) * scale;
    case Kind::TruncatedNormal:
      return random::truncated_normal(key, kind_.lower, kind_.upper, shape, dtype) * scale;
    case Kind::VarianceScaling:
      return scaled_variance(key, shape, dtype,
                             kind_.scale / fan(kind_.mode, shape, kind_.axes ? *kind_.axes : axes),
                             kind_.distribution);
    case Kind::Orthogonal:
      return scale * orthogonal_weights(key, shape, dtype, kind_.axes ? *kind_.axes : axes);
    case Kind::DeltaOrthogonal:
      return scale * delta_orthogonal_weights(key, shape, dtype, kind_.axes ? *kind_.axes : axes);
  }
  APSIS_ASSERT(false);
}

namespace initializers {

Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer constant(double value) {
  return Initializer({.name = Initializer::Kind::Constant, .scale = value});
}
Initializer uniform(double scale) {
  return Initializer({.name = Initializer::Kind::Uniform, .scale = scale});
}
Initializer normal(double stddev) {
  return Initializer({.name = Initializer::Kind::Normal, .scale = stddev});
}
Initializer truncated_normal(double stddev, double lower, double upper) {
  return Initializer(
      {.name = Initializer::Kind::TruncatedNormal, .scale = stddev, .lower = lower, .upper = upper});
}
Initializer variance_scaling(double scale, FanMode mode, Distribution distribution,
                             const std::optional<FanAxes>& axes) {
  return Initializer({.name = Initializer::Kind::VarianceScaling,
                      .scale = scale,
                      .mode = mode,
                      .distribution = distribution,
                      .axes = axes});
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

Initializer orthogonal(double scale, const std::optional<FanAxes>& axes) {
  return Initializer({.name = Initializer::Kind::Orthogonal, .scale = scale, .axes = axes});
}
Initializer delta_orthogonal(double scale, const std::optional<FanAxes>& axes) {
  return Initializer({.name = Initializer::Kind::DeltaOrthogonal, .scale = scale, .axes = axes});
}

}  // namespace initializers
}  // namespace apsis::nn
