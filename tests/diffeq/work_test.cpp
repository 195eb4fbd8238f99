// What solves cost, as they count it.

#include <gtest/gtest.h>
#include <apsis/apsis.hpp>

#include "diffeq/any_solver.hpp"

namespace apsis::testing {
namespace {

struct Counts {
  std::int64_t steps, rejected, evaluations, jacobians, factorisations;
};
Counts counts_of(const SolveStats& s) {
  const auto number = [](const Array& a) { return a.item<std::int64_t>(); };
  return {number(s.num_steps), number(s.num_rejected_steps), number(s.num_evaluations),
          number(s.num_jacobians), number(s.num_factorisations)};
}
const auto van_der_pol = [](const Array&, const Array& y) {
  return stack({y[1], 100. * (1 - y[0] * y[0]) * y[1] - y[0]});
};
Counts solve(const auto& solver, double tolerance = 1e-6) {
  const auto run = [&](const Array& y0) {
    return diffeqsolve(
               ODETerm{van_der_pol}, solver, 0., 100., {}, y0,
               {.controller = PIDController{.rtol = tolerance, .atol = tolerance}, .max_steps = 100'000})
        .stats;
  };
  return counts_of(jit(run)(array({2., 0.})));
}

TEST(Work, OfExplicitSolversIsTheirStages) {
  const std::pair<Whole, std::int64_t> stages[] = {{any<Whole>(Heun{}), 2},
                                                   {any<Whole>(Bosh3{}), 3},
                                                   {any<Whole>(Tsit5{}), 6},
                                                   {any<Whole>(Dopri8{}), 13},
                                                   {any<Whole>(Vern7{}), 10},
                                                   {any<Whole>(Vern9{}), 16},
                                                   {any<Whole>(HalfSolver{Heun{}}), 6}};
  for (const auto& [solver, of_step] : stages) {
    const Counts c = counts_of(diffeqsolve(ODETerm{[](const Array& t, const Array& y) { return t * y; }},
                                           solver, 0., 1., 0.125, array({1.}))
                                   .stats);
    EXPECT_EQ(c.steps, 8);
    EXPECT_EQ(c.evaluations, 8 * of_step) << solver.traits().name;
    EXPECT_EQ(c.jacobians, 0);
    EXPECT_EQ(c.factorisations, 0);
  }
}

TEST(Work, OfImplicitSolversIsOneMatrixAStepOrLess) {
  const Counts rosenbrock = solve(Rodas5P{});
  EXPECT_EQ(rosenbrock.evaluations, 8 * rosenbrock.steps);
  EXPECT_EQ(rosenbrock.jacobians, rosenbrock.steps);
  EXPECT_EQ(rosenbrock.factorisations, rosenbrock.steps);

  const Counts esdirk = solve(Kvaerno5{});
  EXPECT_EQ(esdirk.jacobians, esdirk.steps);
  EXPECT_EQ(esdirk.factorisations, esdirk.steps);
  EXPECT_GE(esdirk.evaluations, 2 * 6 * esdirk.steps);
  EXPECT_LE(esdirk.evaluations, 10 * 6 * esdirk.steps);
}

// CVODE's rules, and those of RADAU5.
TEST(Work, OfSolversThatKeepTheirMatricesIsLess) {
  const Counts bdf = solve(BackwardDifferences{});
  EXPECT_LT(5 * bdf.jacobians, bdf.steps);
  EXPECT_LT(2 * bdf.factorisations, bdf.steps);
  EXPECT_LE(bdf.jacobians, bdf.factorisations);
  EXPECT_GE(bdf.evaluations, 2 * bdf.steps);

  const Counts radau = solve(Radau5{}, 1e-8);
  EXPECT_LT(radau.jacobians, radau.factorisations);
  EXPECT_LT(radau.factorisations, radau.steps);
}

TEST(Work, IsThatOfEachLaneAndOfBothOfTwoSolvers) {
  const auto run = [](const Array& mu) {
    const auto field = [&](const Array&, const Array& y) {
      return stack({y[1], mu * (1 - y[0] * y[0]) * y[1] - y[0]});
    };
    return diffeqsolve(ODETerm{field}, AutoSwitch{Tsit5{}, Rodas5P{}}, 0., 50., {}, array({2., 0.}),
                       {.controller = PIDController{.rtol = 1e-5, .atol = 1e-5}, .max_steps = 100'000})
        .stats;
  };
  const Array mu = array({0.5, 200.});
  const SolveStats many = jit(vmap(run))(mu);
  for (std::int64_t i = 0; i < 2; ++i) {
    const Counts one = counts_of(jit(run)(mu[i]));
    EXPECT_EQ(many.num_evaluations[i].item<std::int64_t>(), one.evaluations);
    EXPECT_EQ(many.num_jacobians[i].item<std::int64_t>(), one.jacobians);
    // Steps of Tsit5 have 6 stages, those of Rodas5P 8.
    EXPECT_EQ(one.evaluations, 6 * (one.steps - one.factorisations) + 8 * one.factorisations);
    EXPECT_EQ(one.factorisations > 0, i == 1);
  }
}

/// Asks for the slope twice a step, and says what it likes.
struct Own {
  StepWork work;
  bool varying = false;
  StepTraits traits() const { return {.name = "Own", .order = 1, .varying_work = varying}; }
  std::vector<Array> init(const SolverStart&) const { return {}; }
  SolverAttempt step(const SolverStep& s) const {
    const Array h = s.slopes.length(s.t0, s.t1), y = s.y0[0] + 0.5 * h * s.slopes(s.t0, s.y0)[0];
    return {.y1 = {s.y0[0] + h * s.slopes(s.t0 + 0.5 * (s.t1 - s.t0), {&y, 1})[0]}, .work = work};
  }
  LocalLinearInterpolation interpolation() const { return {}; }
};

TEST(Work, OfOwnSolversIsCountedOrTold) {
  const auto field = [](const Array&, const Array& y) { return -y; };
  const auto run = [&](const Own& own) {
    return counts_of(diffeqsolve(ODETerm{field}, own, 0., 1., 0.25, array({1.})).stats);
  };
  EXPECT_EQ(run({}).evaluations, 8);
  EXPECT_EQ(run({}).jacobians, 0);
  EXPECT_EQ(run({{.evaluations = 7, .jacobians = 2}}).evaluations, 28);
  EXPECT_EQ(run({{.evaluations = 7, .jacobians = 2}}).jacobians, 8);
  EXPECT_EQ(run({{.factorisations = array(std::int64_t{3})}, true}).factorisations, 12);
  const auto text_of_error = [](const auto& call) {
    try {
      call();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(text_of_error([&] { run({{.evaluations = array({1.})}}); }).find("work.evaluations of step()"),
            std::string::npos);
  const auto traced = [&](const Array& n) {
    return diffeqsolve(ODETerm{field}, Own{{.jacobians = n}}, 0., 1., 0.25, array({1.})).stats.num_jacobians;
  };
  EXPECT_NE(text_of_error([&] { jit(traced)(array(std::int64_t{1})); }).find("varying_work"),
            std::string::npos);
}

}  // namespace
}  // namespace apsis::testing
