// Roots and fixed points: all solvers, derivatives of both adjoints, lanes, ends.

#include <gtest/gtest.h>

#include <cmath>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

struct State {
  Array x, y;
};

/// The square root of a, and twice a: two leaves that depend on each other.
State system(const State& s, const Array& a) { return {s.x * s.x - a, s.y - 2. * s.x * s.x}; }

TEST(RootFind, AllSolversOfSystems) {
  auto check = [](const char* name, const auto& solver) {
    SCOPED_TRACE(name);
    auto run = [&](const Array& a) { return root_find(system, solver, State{1.5, 3.}, a); };
    auto sol = jit(run)(array(2.));
    EXPECT_EQ(sol.result.template item<std::int64_t>(), 0);
    // Steps of 1e-8 of methods that converge faster than linearly, or by the rate that is left.
    EXPECT_NEAR(sol.value.x.template item<double>(), std::sqrt(2.), 2e-8);
    EXPECT_NEAR(sol.value.y.template item<double>(), 4., 1e-7);
    // dx/da = 1 / (2 x), both ways, and the second derivative.
    auto x = [&](const Array& a) { return run(a).value.x; };
    EXPECT_NEAR(grad(x)(array(2.)).template item<double>(), 0.5 / std::sqrt(2.), 1e-7);
    EXPECT_NEAR(jvp(x, array(2.), array(1.)).second.template item<double>(), 0.5 / std::sqrt(2.), 1e-7);
    EXPECT_NEAR(jit(grad(grad(x)))(array(2.)).template item<double>(), -0.25 / std::pow(2., 1.5), 1e-7);
    // Lanes take their own steps, and give what they give alone.
    const Array as = array({2., 1.9, 2.5, 3., 2.25});
    auto many = jit(vmap(run))(as);
    for (int i = 0; i < 5; ++i) {
      auto one = jit(run)(as[i]);
      EXPECT_EQ(many.stats.steps[i].template item<std::int64_t>(),
                one.stats.steps.template item<std::int64_t>());
      EXPECT_EQ(many.value.x[i].template item<double>(), one.value.x.template item<double>());
    }
  };
  check("Newton", Newton{});
  check("Chord", Chord{});
  check("Broyden", Broyden{});
}

TEST(RootFind, UnrolledIsTheDerivativeOfTheSteps) {
  auto root = [](const Array& a, SolveAdjoint adjoint) {
    return root_find([&](const Array& x) { return x * x * x - a; }, Newton{}, 1.5, {.adjoint = adjoint})
        .value;
  };
  auto implicit = [&](const Array& a) { return root(a, SolveAdjoint::Implicit); };
  auto unrolled = [&](const Array& a) { return root(a, SolveAdjoint::Unrolled); };
  const double exact = 1 / (3 * std::pow(2., 2. / 3));
  EXPECT_NEAR(grad(implicit)(array(2.)).item<double>(), exact, 1e-14);
  EXPECT_NEAR(grad(unrolled)(array(2.)).item<double>(), exact, 1e-12);
}

TEST(RootFind, BracketsOfOneNumber) {
  auto check = [](const char* name, const auto& solver, std::int64_t most) {
    SCOPED_TRACE(name);
    // Brent's own kind of examples: a simple root, a triple one, a pole beside it, one at an end.
    auto solve = [&](auto f, double lower, double upper) {
      auto sol = root_find(f, solver, 0., {.lower = lower, .upper = upper});
      EXPECT_LE(sol.stats.steps.template item<std::int64_t>(), most);
      return sol.value.template item<double>();
    };
    EXPECT_NEAR(solve([](const Array& x) { return cos(x) - x; }, 0, 2), 0.7390851332151607, 2e-8);
    EXPECT_NEAR(solve([](const Array& x) { return x - exp(-x * 5.); }, -1, 1), 0.26534493304844007, 2e-8);
    EXPECT_NEAR(solve([](const Array& x) { return 1. / (x - 3.) + 6.; }, -5, 2.99), 3 - 1. / 6, 5e-8);
    EXPECT_NEAR(solve([](const Array& x) { return 1. - x * x; }, 1, 5), 1, 0);
    EXPECT_NEAR(solve([](const Array& x) { return (x - 1.) * square(x - 1.); }, -1.3, 4), 1, 3e-8);
  };
  check("Bisection", Bisection{}, 40);
  check("Brent", Brent{}, 100);
  auto steps = [](const auto& solver) {
    return root_find([](const Array& x) { return cos(x) - x; }, solver, 0., {.lower = 0., .upper = 2.})
        .stats.steps.template item<std::int64_t>();
  };
  EXPECT_LE(steps(Brent{}), 8);
  EXPECT_GE(steps(Bisection{}), 25);
  // Between ends without a change of sign there is nothing to find.
  auto none = root_find([](const Array& x) { return x * x + 1.; }, Brent{}, 0.,
                        {.throw_ = false, .lower = -1., .upper = 1.});
  EXPECT_EQ(none.result.item<std::int64_t>(), static_cast<std::int64_t>(NonlinearResult::Refused));
}

TEST(RootFind, EndsOfFailures) {
  auto result = [](auto f, const NonlinearOptions& options) {
    return static_cast<NonlinearResult>(
        root_find(f, Newton{}, 1., options).result.template item<std::int64_t>());
  };
  EXPECT_EQ(result([](const Array& x) { return x * x + 1e-3 + 0. * x; }, {.max_steps = 5, .throw_ = false}),
            NonlinearResult::MaxStepsReached);
  EXPECT_EQ(result([](const Array& x) { return 1. + 0. * x; }, {.throw_ = false}), NonlinearResult::Singular);
  EXPECT_EQ(result([](const Array& x) { return log(x - 1.) + 1.; }, {.throw_ = false}),
            NonlinearResult::NonFinite);
  // The best point seen, not the last: Newton on the arc tangent runs away from 1.5.
  auto far =
      root_find([](const Array& x) { return atan(x); }, Newton{}, 1.5, {.max_steps = 6, .throw_ = false});
  EXPECT_NEAR(far.value.item<double>(), 1.5, 0.3);
  // Bounds keep it.
  auto kept = root_find([](const Array& x) { return atan(x); }, Newton{}, 1.5, {.lower = -1.2, .upper = 3.});
  EXPECT_NEAR(kept.value.item<double>(), 0, 1e-12);
}

TEST(RootFind, AnInfiniteSlopeIsNoSolution) {
  // From 0 the step is 1 / ∞: of no length, though the function is -1 there.
  auto check = [](const auto& solver) {
    auto sol = root_find([](const Array& x) { return sqrt(x) - 1.; }, solver, 0., {.throw_ = false});
    EXPECT_EQ(sol.result.template item<std::int64_t>(),
              static_cast<std::int64_t>(NonlinearResult::NonFinite));
  };
  check(Newton{});
  check(Chord{});
  check(Broyden{});
}

TEST(RootFind, BoundsThatAreNoUse) {
  auto result = [](auto f, const auto& solver, double lower, double upper) {
    auto sol = root_find(f, solver, 5., {.throw_ = false, .lower = lower, .upper = upper});
    return static_cast<NonlinearResult>(sol.result.template item<std::int64_t>());
  };
  auto falls = [](const Array& x) { return exp(-x); };  // 0 at ∞
  auto line = [](const Array& x) { return x - 1.; };    // 0 at the bound
  EXPECT_EQ(result(falls, Brent{}, 0, INFINITY), NonlinearResult::Refused);
  EXPECT_EQ(result(falls, Bisection{}, -INFINITY, INFINITY), NonlinearResult::Refused);
  EXPECT_EQ(result(line, Brent{}, 2, 1), NonlinearResult::Refused);
  EXPECT_EQ(result(line, Newton{}, 2, 1), NonlinearResult::Refused);
  // The width of the bracket is more than a number can be.
  auto far = [](const Array& x) { return x - 3e307; };
  EXPECT_EQ(result(far, Bisection{}, -1e308, 1e308), NonlinearResult::Successful);
}

TEST(RootFind, HalfPrecision) {
  const Array start = astype(array({1., 2.}), f16);
  auto sol = root_find([](const Array& x) { return x * x - 2.; }, Newton{}, start);
  EXPECT_EQ(sol.value.dtype(), f16);
  // To what f16 tells apart: 2⁻¹⁰ near √2.
  EXPECT_NEAR(sol.value[0].item<float>(), std::sqrt(2.F), 2e-3);
  EXPECT_NEAR(sol.value[1].item<float>(), std::sqrt(2.F), 2e-3);
}

TEST(RootFind, EmptyAndSingle) {
  auto none = root_find([](const Array& x) { return x * 2.; }, Newton{}, zeros({0}));
  EXPECT_EQ(none.value.size(), 0);
  auto single = root_find([](const Array& x) { return x * x - 2.F; }, Newton{}, array({1.F, 2.F}));
  EXPECT_EQ(single.value.dtype(), f32);
  EXPECT_NEAR(single.value[0].item<float>(), std::sqrt(2.F), 1e-6);
}

TEST(FixedPoint, IterationAndAnderson) {
  // y = cos(a y), element by element.
  auto solve = [](const Array& a, const auto& solver) {
    return fixed_point([&](const Array& y) { return cos(a * y); }, solver, full({3}, 0.5));
  };
  const Array a = array({1., 0.7, 0.9});
  auto check = [&](const char* name, const auto& solver, std::int64_t most) {
    SCOPED_TRACE(name);
    auto sol = jit([&](const Array& x) { return solve(x, solver); })(a);
    EXPECT_NEAR(sol.value[0].template item<double>(), 0.7390851332151607, 2e-8);
    EXPECT_LE(sol.stats.steps.template item<std::int64_t>(), most);
    // dy/da = -y sin(ay) / (1 + a sin(ay)).
    const double y = 0.7390851332151607, exact = -y * std::sin(y) / (1 + std::sin(y));
    auto total = [&](const Array& x) { return sum(solve(x, solver).value); };
    EXPECT_NEAR(grad(total)(a)[0].template item<double>(), exact, 1e-7);
  };
  check("FixedPointIteration", FixedPointIteration{}, 60);
  check("Anderson", Anderson{}, 15);
  auto away = fixed_point([](const Array& y) { return 2. * y; }, FixedPointIteration{}, 1.,
                          {.max_steps = 20, .throw_ = false});
  EXPECT_EQ(away.result.item<std::int64_t>(), 1);
  EXPECT_EQ(away.value.item<double>(), 1.);
}

}  // namespace
