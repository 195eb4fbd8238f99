// What solvers of a family promise beyond their order.

#include <cmath>

#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

double number(const Array& a) { return a.item<double>(); }
std::int64_t steps(const Solution<Array>& s) { return s.stats.num_steps.item<std::int64_t>(); }

/// u_t = u_xx on a grid of n inner points, u = 0 at both ends.
struct Heat {
  Array operator()(const Array&, const Array& u) const {
    const auto n = static_cast<double>(u.size() + 1);
    const Array edge = zeros({1}, u.dtype()), padded = concatenate({edge, u, edge});
    return n * n * (padded[range(2, {})] - 2. * u + padded[range({}, -2)]);
  }
};

// The lowest mode decays with its own eigenvalue; explicit methods need 4 n² t / 3.3 steps for stability.
TEST(RKC, TakesStagesInsteadOfSteps) {
  const std::int64_t n = 199;
  const Array x = arange(1, n + 1) * (1. / static_cast<double>(n + 1)), u0 = sin(std::acos(-1.) * x);
  const double half = std::acos(-1.) / (2 * static_cast<double>(n + 1));
  const double rate = 4 * std::pow(static_cast<double>(n + 1) * std::sin(half), 2);
  const SolveOptions options{.controller = PIDController{.rtol = 1e-5, .atol = 1e-8}, .max_steps = 100'000};
  const auto solve = [&](const Array& u) {
    return diffeqsolve(ODETerm{Heat{}}, RKC{}, 0., 0.2, {}, u, options);
  };
  const auto sol = jit(solve)(u0);
  EXPECT_LT(max(abs(sol.ys[-1] - std::exp(-0.2 * rate) * u0)).item<double>(),
            100 * 1e-5 * std::exp(-0.2 * rate));
  EXPECT_LT(steps(sol), 200);
  // What is scaled at first is scaled at the end.
  const auto end = [&](const Array& scale) { return solve(scale * u0).ys[-1][n / 2]; };
  EXPECT_NEAR(number(jit(grad(end))(array(1.))), number(end(array(1.))), 1e-6 * number(end(array(1.))));
}

TEST(RKC, AStepForTooManyStagesIsMadeShorter) {
  const auto fast = [](const Array&, const Array& y) { return -1e6 * (y - 1.); };
  const auto solve = [&](const SolveOptions& o) {
    return diffeqsolve(ODETerm{fast}, RKC{.max_stages = 20}, 0., 0.01, 0.01, array({0.}), o);
  };
  const auto sol = solve({.controller = PIDController{.rtol = 1e-4, .atol = 1e-6}});
  EXPECT_NEAR(number(sol.ys[-1][0]), 1., 1e-4);
  EXPECT_EQ(error_of_call([&] { solve({}); }), "step_without_result");
}

/// Robertson's reactions up to 1000.
Solution<Array> robertson(const auto& solver, double rtol) {
  const auto field = [](const Array&, const Array& y) {
    const Array first = 0.04 * y[0] - 1e4 * y[1] * y[2], second = 3e7 * y[1] * y[1];
    return stack({-first, first - second, second});
  };
  return diffeqsolve(ODETerm{field}, solver, 0., 1e3, {}, array({1., 0., 0.}),
                     {.controller = PIDController{.rtol = rtol, .atol = 1e-4 * rtol}, .max_steps = 10'000});
}

// The steps are about those of the methods' own programs: SciPy's BDF makes 211 at rtol 1e-6, its Radau 115.
TEST(BackwardDifferences, TheOrderRises) {
  const auto five = robertson(BackwardDifferences{}, 1e-6),
             two = robertson(BackwardDifferences{.max_order = 2}, 1e-6),
             one = robertson(BackwardDifferences{.max_order = 1}, 1e-4);
  const Array exact = robertson(Radau5{}, 1e-11).ys[-1];
  EXPECT_LT(max(abs(five.ys[-1] / exact - 1.)).item<double>(), 1e-4);
  EXPECT_LT(max(abs(two.ys[-1] / exact - 1.)).item<double>(), 1e-4);
  EXPECT_LT(max(abs(one.ys[-1] / exact - 1.)).item<double>(), 1e-2);
  EXPECT_LT(steps(five), 450);
  EXPECT_LT(2 * steps(five), steps(two));
  const auto classical = robertson(BackwardDifferences{.numerical = false}, 1e-6);
  EXPECT_LT(max(abs(classical.ys[-1] / exact - 1.)).item<double>(), 1e-4);
}

TEST(Radau5, MakesFewSteps) {
  const auto sol = robertson(Radau5{}, 1e-6);
  EXPECT_LT(steps(sol), 160);
  const Array exact = robertson(Radau5{}, 1e-11).ys[-1], other = robertson(Rodas5P{}, 1e-10).ys[-1];
  EXPECT_LT(max(abs(sol.ys[-1] / exact - 1.)).item<double>(), 1e-4);
  EXPECT_LT(max(abs(other / exact - 1.)).item<double>(), 1e-8);
}

TEST(Families, OptionsOutOfTheirRangesAreRefused) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  const auto by = [&](const auto& solver) {
    return error_of_call([&] { diffeqsolve(ODETerm{decay}, solver, 0., 1., 0.1, array({1.})); });
  };
  EXPECT_EQ(by(RKC{.max_stages = 1}), "option_range");
  EXPECT_EQ(by(BackwardDifferences{.newton = {.rtol = 1e-8, .atol = 1e-8}, .max_order = 6}), "option_range");
  EXPECT_EQ(by(BackwardDifferences{.newton = {.rtol = 1e-8, .atol = 1e-8}, .max_order = 0}), "option_range");
  EXPECT_EQ(by(Radau5{.newton = {.rtol = 1e-8, .atol = 1e-8, .kappa = 2.}}), "option_range");
  EXPECT_EQ(by(Radau5{}), "newton_tolerance");
  EXPECT_EQ(by(BackwardDifferences{}), "newton_tolerance");
}

}  // namespace
}  // namespace apsis::testing
