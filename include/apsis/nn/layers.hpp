#pragma once

// Layers are aggregates of arrays with a call operator; making one takes a key.
//
//   auto [a, b] = random::split<2>(random::key(0));
//   nn::MLP model = nn::make_mlp({.in = 2, .out = 1, .width = 32, .depth = 2}, a);
//   Array y = model(x);                                       // x: f64[2]
//   Array ys = vmap([&](const Array& v) { return model(v); })(xs);

#include "apsis/nn/activation.hpp"

namespace apsis::nn {

/// Draws an array for a layer of `fan_in` inputs and `fan_out` outputs.
using Initializer = Array (*)(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
                              Dtype dtype);

/// Uniform in ±1/√fan_in, Equinox's default for weights and biases.
Array uniform_fan_in(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
                     Dtype dtype);
/// Uniform in ±√(6 / (fan_in + fan_out)) (Glorot and Bengio 2010), for tanh.
Array glorot_uniform(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
                     Dtype dtype);
/// Normal with variance 2 / (fan_in + fan_out).
Array glorot_normal(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
                    Dtype dtype);
/// Normal with variance 2 / fan_in (He et al. 2015), for relu.
Array he_normal(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out, Dtype dtype);
/// Normal with variance 1 / fan_in (LeCun et al. 1998).
Array lecun_normal(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
                   Dtype dtype);
/// Zeros.
Array zero_init(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out, Dtype dtype);

/// weight · x + bias.
struct Linear {
  Array weight;  ///< [out, in]
  Array bias;    ///< [out]; empty: none
  /// x: [in] → [out]. Throws for another shape.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

/// Options of `make_linear`: numbers of features, initialisers and dtype.
struct LinearOptions {
  std::int64_t in = 1, out = 1;
  bool use_bias = true;
  Initializer weight_init = uniform_fan_in, bias_init = uniform_fan_in;
  Dtype dtype = f64;
};
/// Throws if a size is not positive.
Linear make_linear(const LinearOptions& options, const Array& key, Loc loc = Loc::here());

/// Linear layers with an activation between them.
struct MLP {
  std::vector<Linear> layers;
  Activation activation = tanh;
  Activation final_activation = identity;
  /// x: [in] → [out].
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

/// Options of `make_mlp`.
struct MLPOptions {
  std::int64_t in = 1, out = 1, width = 32;
  std::int64_t depth = 2;  ///< hidden layers; 0: one linear layer
  Activation activation = tanh, final_activation = identity;
  Initializer weight_init = uniform_fan_in, bias_init = uniform_fan_in;
  Dtype dtype = f64;
};
/// Throws if a size is not positive, or the depth is negative.
MLP make_mlp(const MLPOptions& options, const Array& key, Loc loc = Loc::here());

}  // namespace apsis::nn
