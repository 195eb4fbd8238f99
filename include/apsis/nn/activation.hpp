#pragma once

#include "apsis/ops/reduce.hpp"

/// Layers of neural networks, and the functions between them.
namespace apsis::nn {

/// Any function of one array; part of a model's static structure.
using Activation = Array (*)(const Array&);

/// x.
Array identity(const Array& x);
/// max(x, 0). The derivative at 0 is 0.
Array relu(const Array& x);
/// x where x > 0, else slope · x.
Array leaky_relu(const Array& x, const Array& slope = .01, Loc loc = Loc::here());
/// x where x > 0, else exp(x) - 1.
Array elu(const Array& x);
/// max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1): elu with a continuous derivative (Barron 2017).
Array celu(const Array& x, const Array& alpha = 1., Loc loc = Loc::here());
/// 1.0507 elu(x, 1.6733): keeps means and variances (Klambauer et al., Self-normalizing neural networks,
/// 2017).
Array selu(const Array& x);
/// min(max(x, 0), 6).
Array relu6(const Array& x);
/// log(1 + exp(x)), without overflow.
Array softplus(const Array& x);
/// 1 / (1 + exp(-x)).
Array sigmoid(const Array& x);
/// The hyperbolic tangent.
Array tanh(const Array& x);
/// x · sigmoid(x).
Array silu(const Array& x);
/// silu by another name.
inline Array swish(const Array& x) { return silu(x); }
/// x Φ(x) (Hendrycks and Gimpel, Gaussian error linear units, 2016), exact.
Array gelu(const Array& x);
/// Their approximation of it by tanh.
Array gelu_tanh(const Array& x);
/// x tanh(softplus(x)) (Misra 2019).
Array mish(const Array& x);
/// log(sigmoid(x)), without overflow.
Array log_sigmoid(const Array& x);
/// x / (1 + |x|).
Array soft_sign(const Array& x);
/// (x + sqrt(x² + b)) / 2 (Barron 2021).
Array squareplus(const Array& x, const Array& b = 4., Loc loc = Loc::here());
/// x clipped to [-1, 1].
Array hard_tanh(const Array& x);
/// relu6(x + 3) / 6.
Array hard_sigmoid(const Array& x);
/// x · hard_sigmoid(x).
Array hard_silu(const Array& x);
/// hard_silu by another name.
inline Array hard_swish(const Array& x) { return hard_silu(x); }
/// 0 up to -1, x from 1 on, (x + 1)² / 4 between.
Array sparse_plus(const Array& x);
/// Its derivative: (x + 1) / 2, clipped to [0, 1].
Array sparse_sigmoid(const Array& x);
/// The first half of an axis times the sigmoid of the second (Dauphin et al. 2017). Throws for an odd size.
Array glu(const Array& x, int axis = -1, Loc loc = Loc::here());

/// Along one axis; shifted by the maximum, so that nothing overflows.
Array softmax(const Array& x, int axis = -1, Loc loc = Loc::here());
/// The logarithm of softmax, without overflow or loss of digits.
Array log_softmax(const Array& x, int axis = -1, Loc loc = Loc::here());
/// log(mean(exp(x))) without overflow.
Array logmeanexp(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
/// Options of `standardize`.
struct StandardizeOptions {
  Axes axis = -1;
  Array mean = {}, variance = {};  ///< instead of those of x
  double epsilon = 1e-5;           ///< added to the variance
};
/// (x - mean) / sqrt(variance + epsilon).
Array standardize(const Array& x, const StandardizeOptions& options = {}, Loc loc = Loc::here());
/// 1 at the place that each integer names, along a new axis of size n; 0 everywhere for integers out of
/// bounds.
Array one_hot(const Array& x, std::int64_t n, Dtype dtype = f64, int axis = -1, Loc loc = Loc::here());

}  // namespace apsis::nn

namespace apsis {
// (tanh and sigmoid are among the elementary functions.)
using nn::celu, nn::gelu_tanh, nn::glu, nn::hard_sigmoid, nn::hard_silu, nn::hard_swish, nn::hard_tanh;
using nn::log_sigmoid, nn::logmeanexp, nn::mish, nn::one_hot, nn::relu6, nn::selu, nn::soft_sign;
using nn::sparse_plus, nn::sparse_sigmoid, nn::squareplus, nn::standardize;
using nn::swish, nn::elu, nn::gelu, nn::leaky_relu, nn::log_softmax, nn::relu, nn::silu, nn::softmax,
    nn::softplus;
}  // namespace apsis
