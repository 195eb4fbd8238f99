// Initialisers against jax.nn.initializers, and the parameters that layers begin with against Equinox's, for
// the same keys.

#include <apsis/apsis.hpp>

#include "array/suite.hpp"

namespace {

using namespace apsis;
using namespace apsis::testing;
namespace init = nn::initializers;

double real(const Case& c, const std::string& key) { return std::stod(c.text.at(key)); }
Dtype dtype(const Case& c) { return golden::dtype_named(c.text.at("dtype")); }

// Uniform draws are JAX's bit for bit; scaling them, and erf⁻¹ of normal ones, rounds a few times.
template <class Make>
Function drawn(const Make& make) {
  return one([make](const Case& c,
                    Inputs x) -> Array { return nn::Initializer(make(c))(x[0], dims(c, "shape"), dtype(c)); },
             1e-13, 4e-6);
}
Function scaled(nn::Initializer (*make)(const std::optional<nn::FanAxes>&)) {
  return drawn([make](const Case& c) {
    const Dims axes = dims(c, "axes");
    if (axes.empty()) return make({});
    nn::FanAxes given{.in = static_cast<int>(axes[0]), .out = static_cast<int>(axes[1])};
    if (axes.size() == 3) given.batch = static_cast<int>(axes[2]);
    return make(given);
  });
}
nn::Initializer variance_scaling(const Case& c) {
  const std::string mode = c.text.at("mode"), kind = c.text.at("distribution");
  return init::variance_scaling(1.5,
                                mode == "fan_in"    ? nn::FanMode::In
                                : mode == "fan_out" ? nn::FanMode::Out
                                : mode == "fan_avg" ? nn::FanMode::Average
                                                    : nn::FanMode::GeometricAverage,
                                kind == "normal"    ? nn::Distribution::Normal
                                : kind == "uniform" ? nn::Distribution::Uniform
                                                    : nn::Distribution::TruncatedNormal);
}
// Householder's reflections of matrices of at most 18 rows: a rounding or two each.
template <class Make>
Function orthogonal(const Make& make) {
  return one(
      [make](const Case& c, Inputs x) -> Array {
        const nn::FanAxes axes{.out = static_cast<int>(std::stoi(c.text.at("column_axis")))};
        return make(c, axes)(x[0], dims(c, "shape"), dtype(c));
      },
      1e-12, 2e-5);
}
/// The arrays of a layer that is made with the key.
template <class Make>
Function made(const Make& make) {
  return many(
      [make](const Case& c, Inputs x) {
        Arrays arrays;
        for (const Array& a : tree_leaves(make(x[0], dtype(c))))
          if (!a.is_empty()) arrays.push_back(a);
        return arrays;
      },
      1e-13, 4e-6);
}

TEST(Initializers, AsJaxAndEquinox) {
  check_golden(
      "nn_initializers",
      {{"zeros", drawn([](const Case&) { return init::zeros(); })},
       {"ones", drawn([](const Case&) { return init::ones(); })},
       {"constant", drawn([](const Case& c) { return init::constant(real(c, "value")); })},
       {"uniform", drawn([](const Case& c) { return init::uniform(real(c, "scale")); })},
       {"normal", drawn([](const Case& c) { return init::normal(real(c, "scale")); })},
       {"truncated_normal", drawn([](const Case& c) {
          return init::truncated_normal(real(c, "scale"), real(c, "lower"), real(c, "upper"));
        })},
       {"lecun_normal", scaled(init::lecun_normal)},
       {"lecun_uniform", scaled(init::lecun_uniform)},
       {"glorot_normal", scaled(init::glorot_normal)},
       {"glorot_uniform", scaled(init::glorot_uniform)},
       {"he_normal", scaled(init::he_normal)},
       {"he_uniform", scaled(init::he_uniform)},
       {"variance_scaling", drawn(variance_scaling)},
       {"orthogonal", orthogonal([](const Case& c, const nn::FanAxes& axes) {
          return init::orthogonal(real(c, "scale"), axes);
        })},
       {"delta_orthogonal", orthogonal([](const Case& c, const nn::FanAxes& axes) {
          return init::delta_orthogonal(real(c, "scale"), axes);
        })},
       {"make_linear", made([](const Array& key, Dtype t) {
          return nn::make_linear({.in = 3, .out = 4, .dtype = t}, key);
        })},
       {"make_linear_scalar", made([](const Array& key, Dtype t) {
          return nn::make_linear({.in = nn::scalar, .out = nn::scalar, .dtype = t}, key);
        })},
       {"make_mlp", made([](const Array& key, Dtype t) {
          return nn::make_mlp({.in = 3, .out = 2, .width = 4, .depth = 3, .dtype = t}, key);
        })},
       {"make_mlp_scan", made([](const Array& key, Dtype t) {
          return nn::make_mlp({.in = 3, .out = 2, .width = 4, .depth = 3, .scan = true, .dtype = t}, key);
        })},
       {"make_gru", made([](const Array& key, Dtype t) {
          return nn::make_gru_cell({.in = 3, .hidden = 4, .dtype = t}, key);
        })},
       {"make_lstm", made([](const Array& key, Dtype t) {
          return nn::make_lstm_cell({.in = 3, .hidden = 4, .dtype = t}, key);
        })},
       {"make_embedding", made([](const Array& key, Dtype t) {
          return nn::make_embedding({.count = 5, .size = 3, .dtype = t}, key);
        })},
       {"make_conv", made([](const Array& key, Dtype t) {
          return nn::make_conv2d({.in = 4, .out = 6, .kernel_size = {3, 2}, .groups = 2, .dtype = t}, key);
        })},
       {"make_conv_transpose", made([](const Array& key, Dtype t) {
          return nn::make_conv_transpose1d({.in = 4, .out = 6, .kernel_size = 3, .dtype = t}, key);
        })},
       {"make_multihead_attention", made([](const Array& key, Dtype t) {
          return nn::make_multihead_attention({.num_heads = 2,
                                               .query_size = 4,
                                               .key_size = 3,
                                               .value_size = 5,
                                               .output_size = 6,
                                               .qk_size = 2,
                                               .vo_size = 3,
                                               .use_key_bias = true,
                                               .dtype = t},
                                              key);
        })},
       {"make_spectral_norm", made([](const Array& key, Dtype t) {
          const Array of_layer = random::key(20261125);
          return nn::SpectralNorm{nn::make_linear({.in = 3, .out = 4, .dtype = t}, of_layer)}.init_state(key);
        })}});
}

TEST(Initializers, LayersSayWhatTheirInputsAre) {
  // 60000 draws: the standard deviation is known to 0.3%, checked to 2%.
  auto deviation = [](const nn::Initializer& draw) {
    nn::LinearOptions o{.in = 300, .out = 200, .weight_init = draw, .bias_init = init::zeros()};
    const nn::Linear layer = nn::make_linear(o, random::key(3));
    EXPECT_EQ(sum(abs(layer.bias)).item<double>(), 0);
    return std_(layer.weight).item<double>();
  };
  EXPECT_NEAR(deviation(init::glorot_uniform()) / std::sqrt(2. / 500), 1, 0.02);
  EXPECT_NEAR(deviation(init::glorot_normal()) / std::sqrt(2. / 500), 1, 0.02);
  EXPECT_NEAR(deviation(init::he_normal()) / std::sqrt(2. / 300), 1, 0.02);
  EXPECT_NEAR(deviation(init::lecun_uniform()) / std::sqrt(1. / 300), 1, 0.02);
  EXPECT_NEAR(deviation([](const Array& key, const Shape& shape, Dtype t) {
                return 0.25 * random::normal(key, shape, t);
              }) / 0.25,
              1, 0.02);
  const nn::Conv conv = nn::make_conv2d(
      {.in = 40, .out = 200, .kernel_size = 3, .weight_init = init::he_normal()}, random::key(4));
  EXPECT_NEAR(std_(conv.weight).item<double>() / std::sqrt(2. / 360), 1, 0.02);
}

TEST(Initializers, OrthogonalOnesKeepLengths) {
  auto expect_identity = [](const Array& a) {
    EXPECT_TRUE(allclose(a, eye(a.dim(0)), {.rtol = 0, .atol = 1e-14}).item<bool>()) << a;
  };
  // Of a layer whose weights are [outputs, inputs], whichever are fewer.
  for (auto [in, out] : {std::pair{8, 5}, {5, 8}, {6, 6}}) {
    nn::LinearOptions o{.in = in, .out = out, .weight_init = init::orthogonal()};
    const Array w = nn::make_linear(o, random::key(5)).weight;
    expect_identity(out < in ? matmul(w, transpose(w)) : matmul(transpose(w), w));
  }
  // A convolution that is a rotation of the channels at each place.
  const nn::Conv conv = nn::make_conv2d({.in = 3,
                                         .out = 4,
                                         .kernel_size = {3, 2},
                                         .padding = "SAME",
                                         .use_bias = false,
                                         .weight_init = init::delta_orthogonal()},
                                        random::key(6));
  const Array x = random::normal(random::key(7), {3, 5, 5});
  EXPECT_NEAR(norm(conv(x)).item<double>(), norm(x).item<double>(), 1e-13);
  EXPECT_EQ(init::orthogonal(2.)(random::key(1), {0, 3}).shape(), (Shape{0, 3}));
  EXPECT_EQ(init::delta_orthogonal()(random::key(1), {3, 0, 2}).shape(), (Shape{3, 0, 2}));
  for (Dtype t : {bf16, f16, f32}) EXPECT_EQ(init::orthogonal()(random::key(1), {3, 2}, t).dtype(), t);
}

}  // namespace
