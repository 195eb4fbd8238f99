// The multilayer perceptron of the benchmark, as a user would write it: an aggregate of weights.
#pragma once

#include <cmath>

#include "bench.hpp"

namespace bench {

struct Layer {
  apsis::Array weight, bias;
};

template <std::size_t N>
struct Mlp {
  std::array<Layer, N> layers;

  template <class Activation>
  apsis::Array operator()(const apsis::Array& x, const Activation& activation) const {
    apsis::Array h = x;
    for (std::size_t k = 0; k < N; ++k) {
      h = matmul(layers[k].weight, h) + layers[k].bias;
      if (k + 1 < N) h = activation(h);
    }
    return h;
  }
};

/// Weights of layer k from threefry key 2 k, biases from key 2 k + 1, uniform within 1 / sqrt(inputs), f32.
template <std::size_t N>
Mlp<N> make_mlp(const std::array<std::int64_t, N + 1>& sizes) {
  using namespace apsis;
  Mlp<N> model;
  for (std::size_t k = 0; k < N; ++k) {
    float bound = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes[k])));
    auto draw = [&](std::int64_t seed, const Shape& shape) {
      return random::uniform(random::key(seed), shape, f32, -bound, bound);
    };
    model.layers[k] = {draw(2 * static_cast<std::int64_t>(k), {sizes[k + 1], sizes[k]}),
                       draw(2 * static_cast<std::int64_t>(k) + 1, {sizes[k + 1]})};
  }
  return model;
}

}  // namespace bench
