#include "apsis/nn/layers.hpp"

#include <cmath>

#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/random.hpp"
#include "nn/messages.hpp"

namespace apsis::nn {
namespace {

Array uniform_within(double bound, const Array& key, const Shape& shape, Dtype dtype) {
  return random::uniform(key, shape, dtype, -bound, bound);
}
Array normal_with(double variance, const Array& key, const Shape& shape, Dtype dtype) {
  return std::sqrt(variance) * random::normal(key, shape, dtype);
}

}  // namespace

Array uniform_fan_in(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t, Dtype dtype) {
  return uniform_within(1 / std::sqrt(static_cast<double>(fan_in)), key, shape, dtype);
}
Array glorot_uniform(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
                     Dtype dtype) {
  return uniform_within(std::sqrt(6. / static_cast<double>(fan_in + fan_out)), key, shape, dtype);
}
Array glorot_normal(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
                    Dtype dtype) {
  return normal_with(2. / static_cast<double>(fan_in + fan_out), key, shape, dtype);
}
Array he_normal(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t, Dtype dtype) {
  return normal_with(2. / static_cast<double>(fan_in), key, shape, dtype);
}
Array lecun_normal(const Array& key, const Shape& shape, std::int64_t fan_in, std::int64_t, Dtype dtype) {
  return normal_with(1. / static_cast<double>(fan_in), key, shape, dtype);
}
Array zero_init(const Array&, const Shape& shape, std::int64_t, std::int64_t, Dtype dtype) {
  return zeros(shape, dtype);
}

Array Linear::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  if (x.ndim() != 1 || x.shape()[0] != weight.shape()[1])
    fail(messages::linear_input, {std::to_string(weight.shape()[1]), to_string(x.aval())});
  Array y = matmul(weight, x);
  return bias.is_empty() ? y : y + bias;
}

Linear make_linear(const LinearOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  if (o.in <= 0 || o.out <= 0) fail(messages::layer_size, {std::to_string(o.in), std::to_string(o.out)});
  Array keys = random::split(key, 2);
  Linear layer{o.weight_init(keys[0], {o.out, o.in}, o.in, o.out, o.dtype), {}};
  if (o.use_bias) layer.bias = o.bias_init(keys[1], {o.out}, o.in, o.out, o.dtype);
  return layer;
}

Array MLP::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  Array h = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    h = layers[i](h);
    h = i + 1 < layers.size() ? activation(h) : final_activation(h);
  }
  return h;
}

MLP make_mlp(const MLPOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  if (o.in <= 0 || o.out <= 0 || o.width <= 0 || o.depth < 0)
    fail(messages::mlp_sizes,
         {std::to_string(o.in), std::to_string(o.out), std::to_string(o.width), std::to_string(o.depth)});
  MLP mlp{{}, o.activation, o.final_activation};
  Array keys = random::split(key, o.depth + 1);
  for (std::int64_t i = 0; i <= o.depth; ++i)
    mlp.layers.push_back(make_linear({.in = i == 0 ? o.in : o.width,
                                      .out = i == o.depth ? o.out : o.width,
                                      .weight_init = o.weight_init,
                                      .bias_init = o.bias_init,
                                      .dtype = o.dtype},
                                     keys[i]));
  return mlp;
}

}  // namespace apsis::nn
