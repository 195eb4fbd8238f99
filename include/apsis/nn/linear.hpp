#pragma once

// Layers are aggregates of arrays with a call operator for one sample; making one takes a key.
//
//   auto [a, b] = random::split<2>(random::key(0));
//   nn::MLP model = nn::make_mlp({.in = 2, .out = 1, .width = 32, .depth = 2}, a);
//   Array y = model(x);                                       // x: f64[2]
//   Array ys = vmap(model)(xs);                               // xs: f64[n,2]

#include <optional>

#include "apsis/nn/activation.hpp"
#include "apsis/nn/initializers.hpp"
#include "apsis/tree/static.hpp"

namespace apsis::nn {

/// As a number of features: one number, without an axis. (Equinox: "scalar")
inline constexpr std::int64_t scalar = -1;

/// weight · x + bias.
struct Linear {
  Array weight;             ///< [out, in]
  Array bias;               ///< [out]; empty: none
  bool scalar_in = false;   ///< x is a scalar
  bool scalar_out = false;  ///< the result is one
  /// x: [in] → [out]. Throws for another shape.
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

/// Options of `make_linear`: numbers of features (or `scalar`), initialisers and dtype.
struct LinearOptions {
  std::int64_t in = 1, out = 1;
  bool use_bias = true;
  std::optional<Initializer> weight_init = {}, bias_init = {};  ///< without, uniform in ±1/√in
  Dtype dtype = f64;
};
/// Throws if a size is not positive.
Linear make_linear(const LinearOptions& options, const Array& key, Loc loc = Loc::here());

/// Linear layers with an activation between them.
struct MLP {
  std::vector<Linear> layers;  ///< with `scan`, the middle ones are one with an axis more
  Activation activation = tanh;
  Activation final_activation = identity;
  bool scan = false;
  /// x: [in] → [out].
  Array operator()(const Array& x, Loc loc = Loc::here()) const;
};

/// Options of `make_mlp`.
struct MLPOptions {
  std::int64_t in = 1, out = 1;  ///< numbers of features, or `scalar`
  std::int64_t width = 32;
  std::int64_t depth = 2;  ///< hidden layers; 0: one linear layer
  Activation activation = tanh, final_activation = identity;
  bool use_bias = true, use_final_bias = true;
  std::optional<Initializer> weight_init = {}, bias_init = {};  ///< as in LinearOptions
  bool scan = false;  ///< one program for all hidden layers, in a loop: many layers compile faster
  Dtype dtype = f64;
};
/// Throws if a size is not positive, or the depth is negative.
MLP make_mlp(const MLPOptions& options, const Array& key, Loc loc = Loc::here());

}  // namespace apsis::nn
