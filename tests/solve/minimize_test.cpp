// Minima: SciPy's with and without bounds, all solvers, why they stop, derivatives.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"
#include "golden/arrays.hpp"

namespace {

using namespace apsis;
using apsis::testing::error_of;

using Loss = std::function<Array(const Array&)>;

Array rosenbrock(const Array& x) {
  const Array head = x[range(0, -1)], tail = x[range(1, {})];
  return sum(100. * square(tail - square(head)) + square(1. - head));
}

Loss objective(const golden::Case& c) {
  using A = const Array&;
  const std::string& name = c.name;
  if (name == "minimum" && c.text.at("objective") == "quadratic")
    return [a = golden::to_array(c["A"]), b = golden::to_array(c["b"])](A x) {
      return 0.5 * dot(x, matmul(a, x)) - dot(b, x);
    };
  if (name == "wood")
    return [](A x) {
      return 100. * square(x[1] - square(x[0])) + square(1. - x[0]) + 90. * square(x[3] - square(x[2])) +
             square(1. - x[2]) + 10. * square(x[1] + x[3] - 2.) + 0.1 * square(x[1] - x[3]);
    };
  if (name == "powell")
    return [](A x) {
      return square(x[0] + 10. * x[1]) + 5. * square(x[2] - x[3]) + square(square(x[1] - 2. * x[2])) +
             10. * square(square(x[0] - x[3]));
    };
  if (name == "beale")
    return [](A x) {
      return square(1.5 - x[0] * (1. - x[1])) + square(2.25 - x[0] * (1. - square(x[1]))) +
             square(2.625 - x[0] * (1. - x[1] * square(x[1])));
    };
  if (name == "booth")
    return [](A x) { return square(x[0] + 2. * x[1] - 7.) + square(2. * x[0] + x[1] - 5.); };
  if (name == "quadratic")
    return [](A x) {
      const Array i = arange(1., static_cast<double>(x.size()) + 1.);
      return sum(i * square(x - i / 4.)) + 0.5 * square(sum(x));
    };
  if (name == "exponential")
    return [](A x) { return sum(exp(x) - arange(1., static_cast<double>(x.size()) + 1.) * x); };
  return rosenbrock;
}

void expect_near(const Array& found, const golden::Field& expected, double tolerance) {
  const std::vector<double> x = found.to_vector<double>();
  ASSERT_EQ(x.size(), expected.real.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected.real[i], tolerance) << i;
}

TEST(Minimize, FindsSciPysMinima) {
  int cases = 0;
  for (const golden::Case& c : golden::read(APSIS_SOURCE_DIR "/tests/golden/optim.txt")) {
    if (c.name != "minimum") continue;
    const Loss f = objective(c);
    auto m = jit([&](const Array& x) { return minimize(f, BFGS{.gtol = 1e-9}, x); })(
        astype(golden::to_array(c["x0"]), f64));
    // SciPy stopped at a gradient of 1e-10, with curvatures of 0.4 and more: 1e-8 in x.
    expect_near(m.value, c["x"], 1e-8);
    ++cases;
  }
  EXPECT_EQ(cases, 2);
}

TEST(Minimize, FindsSciPysMinimaBetweenBounds) {
  int cases = 0;
  for (const golden::Case& c : golden::read(APSIS_SOURCE_DIR "/tests/golden/solve.txt")) {
    SCOPED_TRACE(c.name);
    const Loss f = objective(c);
    const NonlinearOptions options{.lower = golden::to_array(c["lower"]),
                                   .upper = golden::to_array(c["upper"])};
    auto check = [&](const char* name, const auto& solver) {
      SCOPED_TRACE(name);
      auto m = minimize(f, solver, golden::to_array(c["start"]), options);
      // Gradients of 1e-8, and curvatures of 0.01 and more (Powell's function).
      expect_near(m.value, c["x"], 1e-6);
      EXPECT_NEAR(m.objective.template item<double>(), c["value"].real[0],
                  1e-12 + 1e-12 * std::abs(c["value"].real[0]));
    };
    check("BFGS", BFGS{});
    check("LBFGS", LBFGS{});
    // Of the others it would take very many steps.
    if (c.name == "booth" || c.name == "quadratic" || c.name == "exponential")
      check("GradientDescent", GradientDescent{});
    ++cases;
  }
  EXPECT_EQ(cases, 10);
}

struct Point {
  Array x, y;
};

TEST(Minimize, AllSolversFindTheMinimumOfATree) {
  auto loss = [](const Point& p, const Array& a) {
    return sum(square(p.x - a) * 2. + 0.5 * square(p.x * p.y - 2.)) + square(square(p.y - 1.));
  };
  const Point start{array({0.3, 0.7}), 0.5};
  const Array a = 1.7;
  const auto best = minimize(loss, TrustNewtonCG{.gtol = 1e-10}, start, a);
  auto check = [&](const char* name, const auto& solver, double tolerance) {
    SCOPED_TRACE(name);
    auto m = jit([&](const Point& s, const Array& at) {
      return minimize(loss, solver, s, at, {.max_steps = 20000});
    })(start, a);
    EXPECT_EQ(m.result.template item<std::int64_t>(), 0);
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(m.value.x[i].template item<double>(), best.value.x[i].template item<double>(), tolerance);
    EXPECT_NEAR(m.value.y.template item<double>(), best.value.y.template item<double>(), tolerance);
    EXPECT_NEAR(m.objective.template item<double>(), best.objective.template item<double>(), 1e-12);
  };
  // A gradient of gtol at curvatures of 1 and more.
  check("BFGS", BFGS{}, 1e-7);
  check("LBFGS", LBFGS{}, 1e-7);
  check("GradientDescent", GradientDescent{}, 1e-7);
  check("GradientDescent with a rate", GradientDescent{.learning_rate = 0.05}, 1e-7);
  check("PolakRibiere", NonlinearCG{}, 1e-7);
  check("FletcherReeves", NonlinearCG{.rule = ConjugateRule::FletcherReeves}, 1e-7);
  check("HestenesStiefel", NonlinearCG{.rule = ConjugateRule::HestenesStiefel}, 1e-7);
  check("DaiYuan", NonlinearCG{.rule = ConjugateRule::DaiYuan}, 1e-7);
  check("NelderMead", NelderMead{.fatol = 1e-14}, 1e-6);
}

TEST(Minimize, GoldenSectionAndScalars) {
  auto loss = [](const Array& x) { return x * x * x * x - 3. * x; };
  const double exact = std::cbrt(0.75);
  EXPECT_NEAR(minimize(loss, GoldenSection{}, 0., {.lower = 0., .upper = 5.}).value.item<double>(), exact,
              1e-7);
  EXPECT_NEAR(minimize(loss, 0.1).value.item<double>(), exact, 1e-8);
}

TEST(Minimize, RunsFromManyStartsAtOnce) {
  auto f = [](const Array& x) { return square(1. - x[0]) + 100. * square(x[1] - square(x[0])); };
  Array starts = array({{-1.2, 1.}, {0., 0.}, {2., -1.}, {1., 1.}});
  auto check = [&](const auto& solver) {
    auto run = [&](const Array& x) { return minimize(f, solver, x); };
    auto many = jit(vmap(run))(starts);
    for (int i = 0; i < 4; ++i) {
      auto one = jit(run)(starts[i]);
      EXPECT_EQ(many.value[i].template to_vector<double>(), one.value.template to_vector<double>());
      EXPECT_EQ(many.stats.steps[i].template item<std::int64_t>(),
                one.stats.steps.template item<std::int64_t>());
      EXPECT_NEAR(one.value[0].template item<double>(), 1., 1e-6);  // gradients of 1e-8, curvatures of 0.4
    }
  };
  check(BFGS{});
  check(TrustNewtonCG{});
}

TEST(Minimize, SaysWhyItStopped) {
  auto quartic = [](const Array& x) { return sum(square(square(x))); };
  auto m = minimize(quartic, BFGS{}, array({1., 2.}), {.max_steps = 2, .throw_ = false});
  EXPECT_EQ(m.result.item<std::int64_t>(), static_cast<std::int64_t>(NonlinearResult::MaxStepsReached));
  EXPECT_LT(m.objective.item<double>(), 17.);
  auto n = minimize([](const Array& x) { return sum(log(x)); }, BFGS{}, array({-1.}), {.throw_ = false});
  EXPECT_EQ(n.result.item<std::int64_t>(), static_cast<std::int64_t>(NonlinearResult::NonFinite));
}

TEST(Minimize, WhatIsNotFiniteIsNoMinimum) {
  auto result = [](const auto& m) {
    return static_cast<NonlinearResult>(m.result.template item<std::int64_t>());
  };
  const NonlinearOptions quiet{.throw_ = false};
  auto nowhere = [](const Array& x) { return 0. * x + INFINITY; };  // its gradient is 0
  EXPECT_EQ(result(minimize(nowhere, BFGS{}, 1., quiet)), NonlinearResult::NonFinite);
  EXPECT_EQ(result(minimize(nowhere, TrustNewtonCG{}, 1., quiet)), NonlinearResult::NonFinite);
  EXPECT_EQ(result(minimize(nowhere, GoldenSection{}, 1., {.throw_ = false, .lower = 0., .upper = 2.})),
            NonlinearResult::NonFinite);
  // A step of this rate leaves what is defined.
  auto edge = [](const Array& x) { return where(x > 1., NAN, -x); };
  auto m = minimize(edge, GradientDescent{.learning_rate = 1}, 0.9, quiet);
  EXPECT_EQ(result(m), NonlinearResult::NonFinite);
  EXPECT_EQ(m.value.item<double>(), 0.9);
  EXPECT_EQ(result(minimize(edge, GoldenSection{}, 0., {.throw_ = false, .lower = 0., .upper = INFINITY})),
            NonlinearResult::Refused);
}

/// NonlinearCG whose first direction leads to where nothing is defined.
struct AgainstAWall {
  static constexpr SolverTraits solver{"AgainstAWall", SolvesFor::Minimum};
  Iterate start(const NonlinearProblem& p, const Array& y) const {
    Iterate it = NonlinearCG{}.start(p, y);
    it.state[1] = array({1., 1.});
    it.state[2] = array(-6.);
    return it;
  }
  Iterate step(const NonlinearProblem& p, const Iterate& it) const { return NonlinearCG{}.step(p, it); }
};
TEST(Minimize, ConjugateDirectionsThatFailAreForgotten) {
  // The search ends at 1e-12 of its length. What the loss falls there is below the rounding of 1e5, which is
  // no reason to stop along the gradient.
  auto loss = [](const Array& x) { return where(x[1] > 0., NAN, square(x[0] - 3.) + 1e5); };
  auto m = minimize(loss, AgainstAWall{}, array({0., 0.}));
  EXPECT_NEAR(m.value[0].item<double>(), 3, 1e-4);  // the root of that rounding is 4e-6
}

TEST(Minimize, RefusesOptionsWithoutEnd) {
  auto loss = [](const Array& x) { return sum(x * x); };
  auto refused = [&](const auto& solver) {
    return error_of([&] { minimize(loss, solver, array({1., 2.})); });
  };
  EXPECT_EQ(refused(GradientDescent{.learning_rate = INFINITY}),
            "[GradientDescent] learning_rate = inf must be at least 0 and at most 1e+300");
  EXPECT_EQ(refused(TrustNewtonCG{.first_radius = INFINITY}),
            "[TrustNewtonCG] first_radius = inf must be above 0 and at most 1e+300");
  EXPECT_EQ(refused(LBFGS{.memory_size = 1000000}),
            "[LBFGS] memory_size = 1e+06 must be at least 1 and at most 1000");
}

TEST(Minimize, SinglePrecision) {
  auto m = minimize(rosenbrock, LBFGS{.gtol = 1e-4}, array({-1.2F, 1.F}));
  EXPECT_EQ(m.value.dtype(), f32);
  EXPECT_NEAR(m.value[1].item<float>(), 1.F, 1e-3);  // a gradient of 1e-4 at a curvature of 0.4
}

TEST(Minimize, DerivativesAreThoseOfTheEquation) {
  // x = argmin of (x - a)²/2 + x⁴/4: x + x³ = a.
  auto solution = [](const Array& a) {
    auto loss = [&](const Array& x) { return 0.5 * square(x - a) + 0.25 * square(square(x)); };
    return minimize(loss, BFGS{.gtol = 1e-13}, 0.5).value;
  };
  const double x = solution(2.).item<double>(), dx = 1 / (1 + 3 * x * x), ddx = -6 * x * dx * dx * dx;
  EXPECT_NEAR(x, 1., 1e-10);
  EXPECT_NEAR(grad(solution)(array(2.)).item<double>(), dx, 1e-12);
  EXPECT_NEAR(jvp(solution, array(2.), array(1.)).second.item<double>(), dx, 1e-12);
  EXPECT_NEAR(jit(grad(grad(solution)))(array(2.)).item<double>(), ddx, 1e-10);
  // On a bound the solution is the bound.
  auto held = [](const Array& a, const Array& b) {
    auto loss = [&](const Array& y) { return sum(square(y - a) * array({1., 3.})) + y[0] * y[1]; };
    return sum(minimize(loss, BFGS{}, array({0., 0.}), {.upper = b}).value);
  };
  auto [da, db] = grad<0, 1>(held)(array({1., 2.}), array({5., 0.5}));
  // y1 = b1 = ½; 2 (y0 - a0) + y1 = 0: d(sum)/da0 = 1, d/db1 = 1 - ½.
  EXPECT_NEAR(da[0].item<double>(), 1, 1e-9);
  EXPECT_NEAR(da[1].item<double>(), 0, 1e-12);
  EXPECT_NEAR(db[1].item<double>(), 0.5, 1e-9);
}

}  // namespace
