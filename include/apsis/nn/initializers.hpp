#pragma once

// How parameters begin: jax.nn.initializers, with the same numbers for the same key.
//
//   Array w = nn::initializers::he_normal()(key, {64, 32});
//   nn::Linear layer = nn::make_linear({.in = 64, .out = 32, .weight_init = nn::initializers::he_normal()},
//   key);

#include <optional>

#include "apsis/ops/reduce.hpp"

namespace apsis::nn {

/// Which axes of an array of weights count inputs and outputs. Those that are none of these, nor batch axes,
/// are the places of a convolution's kernel: they belong to both.
struct FanAxes {
  Axes in = -2, out = -1;
  Axes batch = Dims();  ///< which count arrays of weights
};

/// What the variance of weights is divided by: the number of inputs, of outputs, or the arithmetic or
/// geometric mean of both.
enum class FanMode : std::uint8_t { In, Out, Average, GeometricAverage };
/// The distribution of weights. A truncated normal one ends at two standard deviations.
enum class Distribution : std::uint8_t { TruncatedNormal, Normal, Uniform };

/// Draws the parameters of a layer. Made by the functions of `initializers`, or of a function of one's own.
class Initializer {
 public:
  /// A function of one's own: of key, shape and dtype.
  using Function = Array (*)(const Array& key, const Shape& shape, Dtype dtype);
  template <class F>
  requires std::is_convertible_v<F, Function> Initializer(F f) : function_(static_cast<Function>(f)) {}

  /// An array of this shape and (floating) dtype. Layers pass which of their axes are inputs and outputs;
  /// axes that the initializer was made with come first. Throws if the shape lacks these axes.
  Array operator()(const Array& key, const Shape& shape, Dtype dtype = f64, const FanAxes& axes = {},
                   Loc loc = Loc::here()) const;

  /// What is drawn where it is no function of one's own, see `initializers`.
  struct Kind {
    enum Name : std::uint8_t {
      Constant,
      Uniform,
      Normal,
      TruncatedNormal,
      VarianceScaling,
      Orthogonal,
      DeltaOrthogonal
    } name;
    double scale;                  ///< the constant, or the factor of what is drawn (or of its variance)
    double lower = -2, upper = 2;  ///< where a TruncatedNormal ends
    FanMode mode = {};             ///< of VarianceScaling
    Distribution distribution = {};
    std::optional<FanAxes> axes = {};  ///< of VarianceScaling, Orthogonal and DeltaOrthogonal
  };
  explicit Initializer(const Kind& kind) : kind_(kind) {}

 private:
  Function function_ = nullptr;
  Kind kind_ = {};
};

/// How parameters begin, with the names of jax.nn.initializers.
namespace initializers {

Initializer zeros();                 ///< 0.
Initializer ones();                  ///< 1.
Initializer constant(double value);  ///< The same number everywhere.
/// Uniform in [0, scale).
Initializer uniform(double scale = 1e-2);
/// Normal with this standard deviation.
Initializer normal(double stddev = 1e-2);
/// Normal between lower and upper, times stddev (which is that before truncation).
Initializer truncated_normal(double stddev = 1e-2, double lower = -2, double upper = 2);
/// Of mean 0 and variance scale / fan. Without axes, those of the layer.
Initializer variance_scaling(double scale, FanMode mode, Distribution distribution,
                             const std::optional<FanAxes>& axes = {});

// The variances of these are 1 / fan in (LeCun et al., Efficient backprop, 1998: for selu), 2 / (fan in + fan
// out) (Glorot and Bengio 2010: for tanh) and 2 / fan in (He et al. 2015: for relu). Normal ones are
// truncated.

Initializer lecun_normal(const std::optional<FanAxes>& axes = {});    ///< 1 / fan in.
Initializer lecun_uniform(const std::optional<FanAxes>& axes = {});   ///< 1 / fan in.
Initializer glorot_normal(const std::optional<FanAxes>& axes = {});   ///< 2 / (fan in + fan out).
Initializer glorot_uniform(const std::optional<FanAxes>& axes = {});  ///< 2 / (fan in + fan out).
Initializer he_normal(const std::optional<FanAxes>& axes = {});       ///< 2 / fan in.
Initializer he_uniform(const std::optional<FanAxes>& axes = {});      ///< 2 / fan in.

/// A matrix, uniform among those whose rows or columns, whichever are fewer, are orthonormal, times scale.
/// Its columns are the entries of the axis of outputs, its rows all other axes together (Saxe, McClelland and
/// Ganguli, Exact solutions to the nonlinear dynamics of learning in deep linear neural networks, 2014).
/// Throws for fewer than two axes. (jax: column_axis is the axis of outputs.)
Initializer orthogonal(double scale = 1, const std::optional<FanAxes>& axes = {});
/// The same in the middle of a convolution's kernel, zeros around it: with as many outputs as inputs the
/// layer keeps lengths (Xiao et al., Dynamical isometry and a mean field theory of CNNs, ICML 2018). Throws
/// for fewer than three axes, and for more inputs than outputs.
Initializer delta_orthogonal(double scale = 1, const std::optional<FanAxes>& axes = {});

}  // namespace initializers
}  // namespace apsis::nn
