// Optimisers and BFGS against Optax's and SciPy's trajectories (tests/golden/optim.txt).

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <apsis/apsis.hpp>

#include "golden/golden.hpp"

namespace {

using namespace apsis;

Array array_of(const golden::Field& f) {
  Array a = array(f.real, Shape(std::span<const std::int64_t>(f.shape)));
  return f.dtype == "f32" ? astype(a, f32) : a;
}

std::function<Array(const Array&)> objective(const golden::Case& c) {
  if (c.text.at("objective") == "quadratic")
    return [a = array_of(c["A"]), b = array_of(c["b"])](const Array& x) {
      return 0.5 * dot(x, matmul(a, x)) - dot(b, x);
    };
  return [](const Array& x) {
    Array head = x[range(0, -1)], tail = x[range(1, {})];
    return sum(100. * square(tail - square(head)) + square(1. - head));
  };
}

template <class Optimizer>
void follow(const golden::Case& c, const Optimizer& optimizer) {
  auto f = objective(c);
  auto slope = grad([&](const Array& x) { return f(x); });
  Array x = array_of(c["x0"]);
  auto state = optimizer.init(x);
  const auto& steps = c["x"];
  auto n = static_cast<std::size_t>(steps.shape[1]);
  for (std::size_t k = 0; k < static_cast<std::size_t>(steps.shape[0]); ++k) {
    auto [change, next] = optimizer.update(slope(x), state);
    x = apply_updates(x, change);
    state = next;
    std::vector<double> values = x.to_vector<double>();
    // Rounding differs in the last bits; thirty steps of well-scaled objectives amplify it little: to 4e6 ULP
    // of f64 at most, 80 of f32.
    double tolerance = steps.dtype == "f32" ? 1e-5 : 1e-9;
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(values[i], steps.real[k * n + i], tolerance * std::max(1., std::abs(steps.real[k * n + i])))
          << c.name << " step " << k;
  }
}

TEST(Optim, FollowsOptax) {
  int sgd = 0, adam = 0;
  for (const golden::Case& c : golden::read(APSIS_SOURCE_DIR "/tests/golden/optim.txt")) {
    auto number = [&](const char* key, double otherwise) { return c.has(key) ? c[key].real[0] : otherwise; };
    bool plain = true;
    for (const auto& [key, field] : c.fields)
      plain = plain && (key == "x0" || key == "x" || key == "value" || key == "A" || key == "b" ||
                        key == "learning_rate" || key == "momentum" || key == "nesterov" || key == "b1" ||
                        key == "b2" || key == "eps");
    if (c.name == "sgd" && plain) {
      follow(c, Sgd{.learning_rate = number("learning_rate", 0),
                    .momentum = number("momentum", 0),
                    .nesterov = number("nesterov", 0) != 0});
      ++sgd;
    } else if (c.name == "adam" && plain) {
      follow(c, Adam{.learning_rate = number("learning_rate", 0),
                     .b1 = number("b1", 0.9),
                     .b2 = number("b2", 0.999),
                     .eps = number("eps", 1e-8)});
      ++adam;
    }
  }
  EXPECT_GE(sgd, 4);
  EXPECT_GE(adam, 4);
}

TEST(Solve, BfgsFindsSciPysMinima) {
  int cases = 0;
  for (const golden::Case& c : golden::read(APSIS_SOURCE_DIR "/tests/golden/optim.txt")) {
    if (c.name != "minimum") continue;
    auto f = objective(c);
    auto m =
        jit([&](const Array& x) { return minimize(f, x, {.gradient_tolerance = 1e-9}); })(array_of(c["x0"]));
    EXPECT_EQ(m.result.item<std::int64_t>(), 0);
    std::vector<double> x = m.parameters.to_vector<double>();
    // SciPy stopped at a gradient of 1e-10, with curvatures of 0.4 and more: 1e-8 in x.
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], c["x"].real[i], 1e-8);
    ++cases;
  }
  EXPECT_EQ(cases, 2);
}

TEST(Solve, BfgsRunsFromManyStartsAtOnce) {
  auto f = [](const Array& x) { return square(1. - x[0]) + 100. * square(x[1] - square(x[0])); };
  Array starts = array({{-1.2, 1.}, {0., 0.}, {2., -1.}, {1., 1.}});
  auto run = [&](const Array& x) { return minimize(f, x); };
  auto many = jit(vmap(run))(starts);
  for (int i = 0; i < 4; ++i) {
    auto one = jit(run)(starts[i]);
    EXPECT_EQ(many.parameters[i].to_vector<double>(), one.parameters.to_vector<double>());
    EXPECT_EQ(many.steps[i].item<std::int64_t>(), one.steps.item<std::int64_t>());
    EXPECT_NEAR(one.parameters[0].item<double>(), 1., 1e-6);
  }
}

TEST(Solve, BfgsSaysWhyItStopped) {
  auto quartic = [](const Array& x) { return sum(square(square(x))); };
  auto m = minimize(quartic, array({1., 2.}), {.max_steps = 2});
  EXPECT_EQ(m.result.item<std::int64_t>(), static_cast<std::int64_t>(MinimizeResult::MaxStepsReached));
  auto n = minimize([](const Array& x) { return sum(log(x)); }, array({-1.}));
  EXPECT_EQ(n.result.item<std::int64_t>(), static_cast<std::int64_t>(MinimizeResult::NonFinite));
}

}  // namespace
