#pragma once

#include "apsis/core/array.hpp"

/// Layers of neural networks, and the functions between them.
namespace apsis::nn {

/// Any function of one array; part of a model's static structure.
using Activation = Array (*)(const Array&);

/// x.
Array identity(const Array& x);
/// max(x, 0). The derivative at 0 is 0.
Array relu(const Array& x);
/// x where x > 0, else slope · x.
Array leaky_relu(const Array& x, const Array& slope, Loc loc = Loc::here());
/// x where x > 0, else exp(x) - 1.
Array elu(const Array& x);
/// log(1 + exp(x)), without overflow.
Array softplus(const Array& x);
/// 1 / (1 + exp(-x)).
Array sigmoid(const Array& x);
/// The hyperbolic tangent.
Array tanh(const Array& x);
/// x · sigmoid(x).
Array silu(const Array& x);
/// x Φ(x) (Hendrycks and Gimpel, Gaussian error linear units, 2016), exact.
Array gelu(const Array& x);
/// Along one axis; shifted by the maximum, so that nothing overflows.
Array softmax(const Array& x, int axis = -1, Loc loc = Loc::here());
/// The logarithm of softmax, without overflow or loss of digits.
Array log_softmax(const Array& x, int axis = -1, Loc loc = Loc::here());

}  // namespace apsis::nn

namespace apsis {
// (tanh and sigmoid are among the elementary functions.)
using nn::elu, nn::gelu, nn::leaky_relu, nn::log_softmax, nn::relu, nn::silu, nn::softmax, nn::softplus;
}  // namespace apsis
