#include "apsis/nn/linear.hpp"

#include <cmath>

#include "apsis/control/scan.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/ops/shape.hpp"
#include "nn/messages.hpp"
#include "nn/support.hpp"

namespace apsis::nn {

Array Linear::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  check_input("Linear", x, scalar_in ? Shape{} : Shape{weight.shape()[1]});
  Array y = matmul(weight, scalar_in ? reshape(x, {1}) : x);
  if (!bias.is_empty()) y = y + bias;
  return scalar_out ? reshape(y, {}) : y;
}

Linear make_linear(const LinearOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  const std::int64_t in = o.in == scalar ? 1 : o.in, out = o.out == scalar ? 1 : o.out;
  check_size("make_linear", "in", in);
  check_size("make_linear", "out", out);
  const Array keys = random::split(key, 2);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  auto draw = [&](const std::optional<Initializer>& init, const Array& with, const Shape& shape) {
    return init ? (*init)(with, shape, o.dtype, {.in = 1, .out = 0})
                : uniform_within(bound, with, shape, o.dtype);
  };
  return {draw(o.weight_init, keys[0], {out, in}), o.use_bias ? draw(o.bias_init, keys[1], {out}) : Array(),
          o.in == scalar, o.out == scalar};
}

Array MLP::operator()(const Array& x, Loc loc) const {
  const LocScope place(loc);
  Array h = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (scan && i == 1) {
      auto step = [&](const Array& hidden, const Linear& layer) {
        return std::pair(activation(layer(hidden)), Nothing{});
      };
      h = apsis::scan(step, h, layers[1]).first;
      continue;
    }
    h = layers[i](h);
    h = i + 1 < layers.size() ? activation(h) : final_activation(h);
  }
  return h;
}

MLP make_mlp(const MLPOptions& o, const Array& key, Loc loc) {
  const LocScope place(loc);
  const bool fits = (o.in > 0 || o.in == scalar) && (o.out > 0 || o.out == scalar) && o.width > 0;
  if (!fits || o.depth < 0)
    fail(messages::mlp_sizes,
         {std::to_string(o.in), std::to_string(o.out), std::to_string(o.width), std::to_string(o.depth)});
  MLP mlp{{}, o.activation, o.final_activation, o.scan && o.depth >= 2};
  const Array keys = random::split(key, o.depth + 1);
  for (std::int64_t i = 0; i <= o.depth; ++i)
    mlp.layers.push_back(make_linear({.in = i == 0 ? o.in : o.width,
                                      .out = i == o.depth ? o.out : o.width,
                                      .use_bias = i == o.depth ? o.use_final_bias : o.use_bias,
                                      .weight_init = o.weight_init,
                                      .bias_init = o.bias_init,
                                      .dtype = o.dtype},
                                     keys[i]));
  if (!mlp.scan) return mlp;
  std::vector<Array> weights, biases;
  for (std::size_t i = 1; i + 1 < mlp.layers.size(); ++i) {
    weights.push_back(mlp.layers[i].weight);
    if (o.use_bias) biases.push_back(mlp.layers[i].bias);
  }
  Linear hidden{stack(weights), o.use_bias ? stack(biases) : Array()};
  mlp.layers = {mlp.layers.front(), hidden, mlp.layers.back()};
  return mlp;
}

}  // namespace apsis::nn
