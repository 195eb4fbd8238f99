// A solver that finds out whether the equation is stiff.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

const PIDController pid{.rtol = 1e-6, .atol = 1e-8};

struct Oscillator {
  Array mu;
  Array operator()(const Array&, const Array& y) const {
    return stack({y[1], mu * (1. - y[0] * y[0]) * y[1] - y[0]});
  }
};
auto oscillate(const auto& solver, const Array& mu, double t1) {
  return diffeqsolve(
      ODETerm{Oscillator{mu}}, solver, 0., t1, {}, array({2., 0.}),
      {.controller = pid, .saveat = {.ts = linspace(0., t1, 9), .solver_state = true}, .max_steps = 200'000});
}
std::int64_t steps(const auto& sol) { return sol.stats.num_steps.template item<std::int64_t>(); }

TEST(AutoSwitch, IsTheExplicitOneWhereNothingIsStiff) {
  const auto fast = oscillate(Tsit5{}, 0.5, 10.), both = oscillate(AutoSwitch{Tsit5{}, Rodas5P{}}, 0.5, 10.);
  EXPECT_EQ(steps(both), steps(fast));
  expect_near(both.ys, fast.ys, 1e-13);
  EXPECT_FALSE(both.solver_state.own[0].item<bool>());
}

TEST(AutoSwitch, GoesOverToTheStiffOneAndBack) {
  const AutoSwitch solver{Tsit5{}, Rodas5P{}};
  // Stiff but for the fast turns, which come about t = 807 and 1614.
  const auto both = oscillate(solver, 1000., 2000.), stiff = oscillate(Rodas5P{}, 1000., 2000.);
  EXPECT_LT(steps(both), 4 * steps(stiff));
  EXPECT_TRUE(both.solver_state.own[0].item<bool>());
  expect_near(both.ys[range(0, 4)], stiff.ys[range(0, 4)], 1e-3);
  // An equation that is stiff at first only: y' = -k(t) (y - cos t), with k from 10⁵ down to 1.
  const auto settles = [](const Array& t, const Array& y) {
    return -(1. + 1e5 * exp(-5. * t)) * (y - cos(t));
  };
  const auto sol =
      diffeqsolve(ODETerm{settles}, solver, 0., 10., {}, array({1.}),
                  {.controller = pid, .saveat = {.t1 = true, .solver_state = true}, .max_steps = 2000});
  EXPECT_FALSE(sol.solver_state.own[0].item<bool>());
}

// What is stiff are elements of 1e-17 to 1e-13, beside one of 2e-3 (problem E5 of the Test Set for IVP
// Solvers).
TEST(AutoSwitch, ElementsOfDifferentOrdersOfMagnitude) {
  const auto slope = [](const Array&, const Array& y) {
    const auto [a, b, c, d] = unstack<4>(y);
    const Array r1 = 7.89e-10 * a, r2 = 1.1e7 * a * c, r3 = 1.13e9 * b * c, r4 = 1.13e3 * d;
    return stack({-r1 - r2, r1 - r3, r1 - r2 + r4 - r3, r2 - r4});
  };
  const auto run = [&](const auto& solver) {
    return diffeqsolve(ODETerm{slope}, solver, 0., 1e5, {}, array({1.76e-3, 0., 0., 0.}),
                       {.controller = PIDController{.rtol = 1e-9, .atol = 1e-24}, .max_steps = 20'000});
  };
  const auto both = run(AutoSwitch{Tsit5{}, Rodas5P{}}), stiff = run(Rodas5P{});
  EXPECT_LT(steps(both), 2 * steps(stiff));
  expect_near(both.ys / stiff.ys, ones({1, 4}), 1e-7);  // a hundred times the tolerance
}

TEST(AutoSwitch, EachLaneForItself) {
  const auto run = [](const Array& mu) {
    const auto sol = oscillate(AutoSwitch{Tsit5{}, Rodas5P{}}, mu, 20.);
    return std::tuple(sol.ys, sol.stats.num_steps, sol.solver_state.own[0]);
  };
  const Array mus = array({0.1, 1000., 3., 200.});
  const auto lanes = jit(vmap(run))(mus);
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto one = jit(run)(mus[i]);
    expect_same_bits(Array(std::get<0>(lanes)[i]), std::get<0>(one));
    expect_same_bits(Array(std::get<1>(lanes)[i]), std::get<1>(one));
  }
  EXPECT_EQ(std::get<2>(lanes).to_vector<bool>(), (std::vector{false, true, false, true}));
}

TEST(AutoSwitch, HasDerivatives) {
  const auto loss = [](const Array& mu) {
    return sum(square(oscillate(AutoSwitch{Tsit5{}, Rodas5P{}}, mu, 20.).ys[-1]));
  };
  const Array mu = array(100.);
  const Array reverse = jit(grad(loss))(mu), forward = jit(jacfwd(loss))(mu);
  expect_near(reverse, forward, 1e-10);
  const auto by_stiff = [](const Array& m) { return sum(square(oscillate(Rodas5P{}, m, 20.).ys[-1])); };
  expect_near(reverse, jit(grad(by_stiff))(mu), 1e-5);
}

TEST(AutoSwitch, AnyStiffSolverAndAnyTable) {
  const auto want = oscillate(Rodas5P{}, 100., 50.);
  const auto check = [&](const auto& solver) {
    const auto sol = oscillate(solver, 100., 50.);
    EXPECT_LT(steps(sol), 2000);
    expect_near(sol.ys, want.ys, 1e-3);
  };
  check(AutoSwitch{Dopri5{}, Radau5{}});
  check(AutoSwitch{Vern7{}, Kvaerno5{}});
  check(AutoSwitch{Bosh3{}, BackwardDifferences{}});
}

TEST(AutoSwitch, Misuse) {
  const auto id = [](const auto& solver) {
    return error_of_call([&] {
      (void)diffeqsolve(ODETerm{Oscillator{array(1.)}}, solver, 0., 1., {}, array({2., 0.}),
                        {.controller = pid});
    });
  };
  using Both = AutoSwitch<Tsit5, Rodas5P>;
  EXPECT_EQ(id(Both{.after = -1}), "option_range");
  EXPECT_EQ(id(Both{.back = -1}), "option_range");
  EXPECT_EQ(id(Both{.tolerance = 1.5}), "option_range");
}

}  // namespace
}  // namespace apsis::testing
