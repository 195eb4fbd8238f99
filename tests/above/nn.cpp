#include <gtest/gtest.h>

#include <cmath>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

TEST(Activations, MatchTheirFormulas) {
  std::vector<double> x = {-800., -30., -3., -1e-9, 0., 1e-9, 0.5, 3., 30., 800.};
  auto expect = [&](nn::Activation f, double (*reference)(double)) {
    std::vector<double> y = f(array(x)).to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(y[i], reference(x[i]), 4e-15 * std::max(1., std::abs(reference(x[i])))) << x[i];
  };
  expect(nn::relu, [](double v) { return v > 0 ? v : 0; });
  expect(nn::elu, [](double v) { return v > 0 ? v : std::expm1(v); });
  expect(nn::softplus,
         [](double v) { return v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v)); });
  expect(nn::sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); });
  expect(nn::silu, [](double v) { return v / (1 + std::exp(-v)); });
  expect(nn::gelu, [](double v) { return 0.5 * v * std::erfc(-v / std::sqrt(2.)); });
}

TEST(Activations, DerivativesAreFiniteFarOut) {
  Array x = array({-800., -1., 0., 1., 800.});
  for (nn::Activation f : {nn::relu, nn::elu, nn::softplus, nn::sigmoid, nn::tanh, nn::silu, nn::gelu}) {
    Array slope = grad([f](const Array& v) { return sum(f(v)); })(x);
    EXPECT_TRUE(static_cast<bool>(all(isfinite(slope))));
  }
}

TEST(Activations, SoftmaxSumsToOneWithoutOverflow) {
  Array x = array({{1000., 1001., 999.}, {-5., 0., 5.}});
  std::vector<double> total = sum(nn::softmax(x), {.axis = 1}).to_vector<double>();
  EXPECT_NEAR(total[0], 1, 1e-15);
  EXPECT_NEAR(total[1], 1, 1e-15);
  std::vector<double> a = nn::log_softmax(x).to_vector<double>(), b = log(nn::softmax(x)).to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-13);
}

TEST(Layers, MlpIsItsLayers) {
  nn::MLP mlp =
      nn::make_mlp({.in = 3, .out = 2, .width = 5, .depth = 2, .activation = nn::relu}, random::key(1));
  ASSERT_EQ(mlp.layers.size(), 3u);
  Array x = array({0.1, -0.2, 0.3});
  Array h = nn::relu(mlp.layers[0](x));
  h = nn::relu(mlp.layers[1](h));
  EXPECT_EQ(mlp(x).to_vector<double>(), mlp.layers[2](h).to_vector<double>());
  auto loss = [](const nn::MLP& m, const Array& v) { return sum(square(m(v))); };
  nn::MLP slope = grad(loss)(mlp, x);
  EXPECT_EQ(slope.layers[1].weight.shape(), (Shape{5, 5}));
  // One entry by central differences; the step balances rounding and truncation.
  constexpr double step = 1e-6;
  auto moved = [&](double by) {
    nn::MLP m = mlp;
    m.layers[2].bias = m.layers[2].bias + array({by, 0.});
    return loss(m, x).item<double>();
  };
  EXPECT_NEAR(slope.layers[2].bias[0].item<double>(), (moved(step) - moved(-step)) / (2 * step), 1e-8);
}

TEST(Layers, InitialisersHaveTheirSpread) {
  Shape shape{200, 300};
  auto deviation = [&](nn::Initializer init) {
    return std_(init(random::key(3), shape, 300, 200, f64)).item<double>();
  };
  // 60000 draws: the standard deviation is known to 0.3%, checked to 2%.
  EXPECT_NEAR(deviation(nn::uniform_fan_in) * std::sqrt(900.), 1, 0.02);
  EXPECT_NEAR(deviation(nn::glorot_uniform) / std::sqrt(2. / 500), 1, 0.02);
  EXPECT_NEAR(deviation(nn::glorot_normal) / std::sqrt(2. / 500), 1, 0.02);
  EXPECT_NEAR(deviation(nn::he_normal) / std::sqrt(2. / 300), 1, 0.02);
  EXPECT_NEAR(deviation(nn::lecun_normal) / std::sqrt(1. / 300), 1, 0.02);
  EXPECT_EQ(deviation(nn::zero_init), 0);
}

}  // namespace
