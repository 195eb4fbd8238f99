// Underdamped Langevin diffusion: orders, small and large friction, the stationary law.

#include <cmath>

#include "apsis/apsis.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

using State = std::pair<Array, Array>;

/// ∇f of a double well with a slope.
Array force(const Array& x) { return x * (x * x - 1.) + 0.5 * cos(x); }

double largest(const Array& x) { return max(abs(x)).item<double>(); }

template <class Solver>
Array ended(const Solver& solver, const Array& gamma, const Array& key, std::int64_t steps,
            std::int64_t finest) {
  const VirtualBrownianTree path(0., 2., 1.99 / static_cast<double>(finest), {2}, key,
                                 {.levy_area = LevyArea::SpaceTimeTime});
  const auto [x, v] = diffeqsolve(underdamped_langevin(gamma, 1., force, path), solver, 0., 2.,
                                  2. / static_cast<double>(steps), State{array({0.5, -1.}), array({0., 0.3})},
                                  {.max_steps = -1})
                          .ys;
  return concatenate({x[-1], v[-1]});
}

/// The slope of log error over log h of the root mean square errors, against a fine solve.
template <class Solver>
double order_of(const Solver& solver) {
  constexpr std::int64_t finest = 512;
  const Array keys = random::split(random::key(3), 100), gamma = array({1., 2.});
  const auto all = [&](std::int64_t steps) {
    return jit(vmap([&](const Array& key) { return ended(solver, gamma, key, steps, finest); }))(keys);
  };
  const Array exact = all(finest);
  std::vector<double> errors;
  for (std::int64_t steps : {8, 16, 32}) {
    const Array off = all(steps) - exact;
    errors.push_back(std::log2(std::sqrt(mean(off * off).item<double>())));
  }
  return (errors[0] - errors[2]) / 2;
}
TEST(Langevin, StrongOrders) {
  EXPECT_NEAR(order_of(ALIGN{}), 2., 0.15);
  EXPECT_NEAR(order_of(ShOULD{}), 3., 0.15);
  EXPECT_NEAR(order_of(QUICSORT{}), 3., 0.15);
}

// Coefficients go over from series to formulas without a step, and hold where friction is tiny, or 0.
TEST(Langevin, FrictionOfAnySize) {
  const auto at = [&](const auto& solver, double gamma) {
    const Array key = random::key(5);
    return jit([&](const Array& g) { return ended(solver, g, key, 16, 16); })(array(gamma));
  };
  const auto expect_smooth = [&](const auto& solver) {
    // γ h = 2 is where series end. A change of γ by 2e-9 changes the state by about as much.
    EXPECT_LT(largest(at(solver, 16. * (1 + 1e-9)) - at(solver, 16. * (1 - 1e-9))), 1e-7);
    EXPECT_LT(largest(at(solver, 1e-12) - at(solver, 0.)), 1e-5);  // the noise is √(2γ)
    EXPECT_TRUE(std::isfinite(largest(at(solver, 1e4))));
  };
  expect_smooth(ALIGN{});
  expect_smooth(ShOULD{});
  expect_smooth(QUICSORT{});
}

/// Where the position is after a long time has the density exp(-f): by Kolmogorov and Smirnov's distance to
/// the distribution function.
TEST(Langevin, HasItsStationaryLaw) {
  constexpr std::int64_t paths = 4000;
  const auto end = [&](const Array& key) {
    const VirtualBrownianTree path(0., 12., 0.11, Shape{}, key, {.levy_area = LevyArea::SpaceTimeTime});
    return diffeqsolve(underdamped_langevin(1., 1., force, path), QUICSORT{}, 0., 12., 0.125,
                       State{array(0.5), array(0.)})
        .ys.first[-1];
  };
  const Array x = sort(jit(vmap(end))(random::split(random::key(21), paths)));
  // f = x⁴/4 - x²/2 + sin(x)/2, on a grid so fine that sums are integrals.
  const Array grid = linspace(-6., 6., 12001),
              density = exp(-(pow(grid, 4) / 4. - grid * grid / 2. + sin(grid) / 2.));
  const Array below = cumsum(density) / sum(density);
  const Array exact = interp(x, grid, below), found = (arange(paths) + 0.5) / static_cast<double>(paths);
  // Beyond 1.95 / √n once in a thousand times.
  EXPECT_LT(max(abs(exact - found)).item<double>(), 1.95 / std::sqrt(paths));
}

TEST(Langevin, AdaptiveStepsByAlign) {
  const auto end = [&](const SolveOptions& options, double dt0) {
    const VirtualBrownianTree path(0., 2., 1e-4, {2}, random::key(1), {.levy_area = LevyArea::SpaceTime});
    const auto sol = diffeqsolve(underdamped_langevin(1., 1., force, path), ALIGN{}, 0., 2., dt0,
                                 State{array({0.5, -1.}), array({0., 0.3})}, options);
    return std::pair{concatenate({sol.ys.first[-1], sol.ys.second[-1]}), sol.stats.num_steps};
  };
  const auto exact = end({.max_steps = -1}, 1. / 2048);
  const auto found = end({.controller = PIDController{.rtol = 1e-4, .atol = 1e-4, .dtmin = 2e-4}}, 0.1);
  EXPECT_LT(max(abs(found.first - exact.first)).item<double>(), 1e-3);  // some dozen steps
  EXPECT_LT(found.second.item<std::int64_t>(), 500);
}

struct Atom {
  Array place, angle;
};
TEST(Langevin, TermsAreTreesAndFitAllSolvers) {
  const auto pull = [](const Atom& x) { return Atom{x.place, sin(x.angle)}; };
  const Atom like{zeros({3}), zeros({2, 2})};
  const VirtualBrownianTree path(0., 1., 0.01, like, random::key(1), {.levy_area = LevyArea::SpaceTimeTime});
  const auto solve = [&](const auto& term, const auto& solver) {
    return diffeqsolve(term, solver, 0., 1., 0.01, std::pair{like, like}).ys.second.angle[-1];
  };
  const auto term = underdamped_langevin(Atom{array(0.5), array({1., 2.})}, 1., pull, path);
  const Array exact = solve(term, QUICSORT{});
  EXPECT_EQ(exact.shape(), Shape({2, 2}));
  EXPECT_LT(max(abs(solve(term, ShOULD{}) - exact)).item<double>(), 1e-5);
  EXPECT_LT(max(abs(solve(term, ALIGN{}) - exact)).item<double>(), 1e-3);
  EXPECT_LT(max(abs(solve(term, ShARK{}) - exact)).item<double>(), 1e-3);
  EXPECT_LT(max(abs(solve(term, Euler{}) - exact)).item<double>(), 0.1);
}

}  // namespace
}  // namespace apsis::testing
