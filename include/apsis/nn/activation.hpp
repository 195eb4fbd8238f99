#pragma once

#include "apsis/core/array.hpp"

namespace apsis::nn {

/// Any function of one array; part of a model's static structure.
using Activation = Array (*)(const Array&);

Array identity(const Array& x);
Array relu(const Array& x);
/// x where x > 0, else slope · x.
Array leaky_relu(const Array& x, const Array& slope, Loc loc = Loc::here());
Array elu(const Array& x);
/// log(1 + exp(x)), without overflow.
Array softplus(const Array& x);
Array sigmoid(const Array& x);
Array tanh(const Array& x);
/// x · sigmoid(x).
Array silu(const Array& x);
/// x Φ(x) (Hendrycks and Gimpel, Gaussian error linear units, 2016), exact.
Array gelu(const Array& x);
/// Along one axis; shifted by the maximum, so that nothing overflows.
Array softmax(const Array& x, int axis = -1, Loc loc = Loc::here());
Array log_softmax(const Array& x, int axis = -1, Loc loc = Loc::here());

}  // namespace apsis::nn

namespace apsis {
// (tanh and sigmoid are among the elementary functions.)
using nn::elu, nn::gelu, nn::leaky_relu, nn::log_softmax, nn::relu, nn::silu, nn::softmax, nn::softplus;
}  // namespace apsis
