// BFGS against SciPy's minima (tests/golden/optim.txt).

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
