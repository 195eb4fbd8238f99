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

TEST(Activations, SoftmaxOfNothing) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}}) {
    const Array x = zeros(shape, f32);
    for (const auto& f : {+[](const Array& v) { return nn::softmax(v); },
                          +[](const Array& v) { return nn::log_softmax(v); }}) {
      EXPECT_EQ(jit(f)(x).shape(), shape);
      EXPECT_EQ(f(x).dtype(), f32);
      EXPECT_EQ(grad([&](const Array& v) { return sum(f(v)); })(x).shape(), shape);
    }
  }
  EXPECT_EQ(to_string(logsumexp(zeros({0}))), "-inf");
  EXPECT_EQ(to_string(jit([](const Array& v) { return logsumexp(v, {.axis = 1}); })(zeros({2, 0}))),
            "[-inf -inf]");
  EXPECT_EQ(logsumexp(zeros({0, 3}), {.axis = 1, .keepdims = true}).shape(), (Shape{0, 1}));
}

}  // namespace
