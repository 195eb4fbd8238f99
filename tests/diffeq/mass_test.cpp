// Equations with a mass matrix, regular and singular, and derivatives of steady states.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

double number(const Array& a) { return a.item<double>(); }
const PIDController adaptive{.rtol = 1e-8, .atol = 1e-10};

std::vector<std::pair<std::string, Whole>> solvers() {
  return {{"rodas5p", any<Whole>(Rodas5P{})},
          {"radau5", any<Whole>(Radau5{})},
          {"ndf", any<Whole>(BackwardDifferences{})}};
}

// M y' = f is y' = M⁻¹ f.
TEST(Mass, ARegularOneIsItsInverse) {
  const Array m = array({{2., 1., 0.}, {0., 1., 0.5}, {1., 0., 3.}});
  const auto field = [](const Array& t, const Array& y) {
    return stack({-y[0] + sin(t), y[2] - 5. * y[1], -y[0] * y[2]});
  };
  const auto inverted = [&](const Array& t, const Array& y) { return linalg::solve(m, field(t, y)); };
  const Array y0 = array({1., 0.5, 2.});
  const Array exact = diffeqsolve(ODETerm{inverted}, Vern9{}, 0., 2., {}, y0,
                                  {.controller = PIDController{.rtol = 1e-12, .atol = 1e-14}})
                          .ys[-1];
  for (const auto& [name, solver] : solvers()) {
    SCOPED_TRACE(name);
    const auto solve = [&, solver = solver](double t0, double t1, const Array& y) {
      return diffeqsolve(ODETerm{field}, solver, t0, t1, {}, y, {.controller = adaptive, .mass = m}).ys[-1];
    };
    // A hundred tolerances.
    EXPECT_LT(max(abs(solve(0., 2., y0) - exact)).item<double>(), 2e-6);
    EXPECT_LT(max(abs(solve(2., 0., exact) - y0)).item<double>(), 2e-4);  // what decays grows back in time
  }
}

/// Robertson's reactions with the third as what is left: y0' and y1' as before, 0 = y0 + y1 + y2 - 1.
struct Conserved {
  Array slow;
  Array operator()(const Array&, const Array& y) const {
    const Array first = slow * y[0] - 1e4 * y[1] * y[2], second = 3e7 * y[1] * y[1];
    return stack({-first, first - second, y[0] + y[1] + y[2] - 1.});
  }
};

TEST(Mass, AlgebraicEquationsHoldAndAreConsistentAtFirst) {
  const auto full = [](const Array& slow) {
    return [slow](const Array&, const Array& y) {
      const Array first = slow * y[0] - 1e4 * y[1] * y[2], second = 3e7 * y[1] * y[1];
      return stack({-first, first - second, second});
    };
  };
  const Array m = array({1., 1., 0.}), guess = array({1., 0., 0.3});  // which 0 = … makes 0
  const auto reference = [&](const Array& slow) {
    return diffeqsolve(ODETerm{full(slow)}, Radau5{}, 0., 40., {}, array({1., 0., 0.}),
                       {.controller = PIDController{.rtol = 1e-11, .atol = 1e-14}})
        .ys[-1];
  };
  const Array exact = reference(0.04), by_slow = jacfwd(reference)(array(0.04));
  for (const auto& [name, solver] : solvers()) {
    SCOPED_TRACE(name);
    const auto solve = [&, solver = solver](const Array& slow) {
      return diffeqsolve(ODETerm{Conserved{slow}}, solver, 0., 40., {}, guess,
                         {.controller = adaptive, .saveat = {.t0 = true, .t1 = true}, .mass = m});
    };
    const auto sol = jit(solve)(array(0.04));
    EXPECT_NEAR(number(sol.ys[0][2]), 0., 1e-15);
    EXPECT_NEAR(number(sum(sol.ys[-1])), 1., 1e-9);
    EXPECT_LT(max(abs(sol.ys[-1] / exact - 1.)).item<double>(), 1e-5);
    const auto end = [&](const Array& slow) { return solve(slow).ys[-1][0]; };
    // Steps are constants for derivatives, which are as exact as the solve.
    EXPECT_NEAR(number(jit(grad(end))(array(0.04))), number(by_slow[0]), 1e-4 * std::abs(number(by_slow[0])));
    const Array many = jit(vmap(end))(array({0.04, 0.05}));
    EXPECT_EQ(number(many[1]), number(jit(end)(array(0.05))));
  }
}

// 0 = z³ + z - x has one z to each x; of y0 it is a guess. z' = x' / (3 z² + 1).
TEST(Mass, ConsistentStatesHaveTheDerivativeOfTheirEquation) {
  const auto field = [](const Array&, const Array& y) {
    return stack({-y[0], y[1] * y[1] * y[1] + y[1] - y[0]});
  };
  const auto first = [&](const Array& x) {
    return diffeqsolve(ODETerm{field}, Rodas5P{}, 0., 1., {}, stack({x, array(5.)}),
                       {.controller = adaptive, .saveat = {.t0 = true}, .mass = array({1., 0.})})
        .ys[0][1];
  };
  EXPECT_NEAR(number(first(array(2.))), 1., 1e-12);
  EXPECT_NEAR(number(jit(grad(first))(array(2.))), 0.25, 1e-10);
}

// M of rank 1 whose null spaces are no axes: (y0 + y1)' = -(y0 + y1), 0 = y0 - 2 y1.
TEST(Mass, ASingularMatrixMayBeAny) {
  const auto field = [](const Array&, const Array& y) {
    const Array decay = -(y[0] + y[1]), rule = y[0] - 2. * y[1];
    return stack({decay + rule, 2. * decay - rule});
  };
  for (const auto& [name, solver] : solvers()) {
    const Array y = diffeqsolve(ODETerm{field}, solver, 0., 1., {}, array({3., 0.}),
                                {.controller = adaptive, .mass = array({{1., 1.}, {2., 2.}})})
                        .ys[-1];
    EXPECT_NEAR(number(y[0]), 2 * std::exp(-1.), 1e-6) << name;
    EXPECT_NEAR(number(y[1]), std::exp(-1.), 1e-6) << name;
  }
}

TEST(Mass, AfterAChangeTheStateIsConsistentAgain) {
  const auto field = [](const Array&, const Array& y) { return stack({-y[0], y[1] - 2. * y[0]}); };
  const auto late = [](const Array& t, const Array&) { return t - 0.5; };
  const auto dose = [](const Array&, const Array& y) { return y + array({1., 0.}); };
  const auto sol = diffeqsolve(ODETerm{field}, Rodas5P{}, 0., 1., {}, array({1., 0.}),
                               {.controller = adaptive,
                                .saveat = {.ts = {0.50001}, .t1 = true},
                                .events = {{.condition = late, .change = dose}},
                                .mass = array({1., 0.})});
  EXPECT_NEAR(number(sol.ys[0][1]), 2 * (std::exp(-0.5) + 1), 1e-4);
  EXPECT_NEAR(number(sol.ys[1][1]), 2 * (std::exp(-1.) + std::exp(-0.5)), 1e-6);
}

// A mass matrix that is full, as that of finite elements in other coordinates: the solution is the same.
TEST(Mass, FullMatrices) {
  const std::int64_t n = 40;
  const Array i = arange(static_cast<double>(n)), gap = abs(reshape(i, {n, 1}) - i);
  const Array mass = where(gap == 0., 4., where(gap == 1., 1., 0.)) / 6.;
  const Array diffusion = where(gap == 0., -2., where(gap == 1., 1., 0.)) * 100.;
  const Array q = linalg::qr(random::normal(random::key(1), {n, n})).q, start = sin(i * (M_PI / 40));
  const auto turned = [&](const Array& m) { return matmul(matmul(transpose(q), m), q); };
  const auto end = [&](const auto& solver, const Array& m, const Array& a, const Array& y0) {
    const auto field = [&](const Array&, const Array& y) { return matmul(a, y); };
    return Array(diffeqsolve(ODETerm{field}, solver, 0., 0.1, {}, y0,
                             {.controller = PIDController{.rtol = 1e-8, .atol = 1e-10}, .mass = m})
                     .ys[-1]);
  };
  for (const auto& [name, solver] : solvers()) {
    SCOPED_TRACE(name);
    const Array banded = end(solver, mass, diffusion, start);
    const Array full = end(solver, turned(mass), turned(diffusion), matmul(transpose(q), start));
    expect_near(matmul(q, full), banded, 1e-7);
  }
}

TEST(Mass, WhatCannotBeTakenIsRefused) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  const auto error = [&](const auto& solver, const Array& m) {
    return error_of_call([&] {
      diffeqsolve(ODETerm{decay}, solver, 0., 1., 0.1, array({1., 2.}), {.controller = adaptive, .mass = m});
    });
  };
  EXPECT_EQ(error(Tsit5{}, array({1., 1.})), "mass_not_taken");
  EXPECT_EQ(error(Rodas5P{}, array({1., 1., 1.})), "mass_shape");
  EXPECT_EQ(error(Rodas5P{}, ones({2, 3})), "mass_shape");
  EXPECT_EQ(error(Rodas5P{}, array({1., double(NAN)})), "mass_not_finite");
  EXPECT_EQ(error_of_call([&] {
              jit([&](const Array& m) {
                return diffeqsolve(ODETerm{decay}, Rodas5P{}, 0., 1., 0.1, array({1., 2.}),
                                   {.controller = adaptive, .mass = m})
                    .ys;
              })(array({1., 1.}));
            }),
            "mass_not_known");
  const auto no_solution = [](const Array&, const Array& y) { return stack({-y[0], y[1] * y[1] + 1.}); };
  EXPECT_EQ(error_of_call([&] {
              diffeqsolve(ODETerm{no_solution}, Rodas5P{}, 0., 1., {}, array({1., 2.}),
                          {.controller = adaptive, .mass = array({1., 0.})});
            }),
            "inconsistent_start");
}

// y' = a - y³ rests at a^(1/3).
TEST(SteadyState, HasTheDerivativeOfItsEquation) {
  const auto rest = [](const Array& a) {
    const auto field = [a](const Array&, const Array& y) { return a - y * y * y; };
    return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1e6, {}, array({0.5}),
                       {.controller = PIDController{.rtol = 1e-10, .atol = 1e-12},
                        .events = {Event{SteadyState{.rtol = 1e-7, .atol = 1e-7}}},
                        .adjoint = Adjoint::SteadyState})
        .ys[-1][0];
  };
  EXPECT_NEAR(number(rest(array(8.))), 2., 1e-7);
  for (const Array& d : {grad(rest)(array(8.)), jit(grad(rest))(array(8.)), jit(jacfwd(rest))(array(8.))})
    EXPECT_NEAR(number(d), 1. / 12, 1e-7);  // y is off by up to 1e-7
  // -2 / (9 a^(5/3))
  EXPECT_NEAR(number(jit(grad(grad(rest)))(array(8.))), -2. / (9 * 32), 1e-7);
  EXPECT_NEAR(number(jit(vmap(grad(rest)))(array({1., 8.}))[0]), 1. / 3, 1e-7);
  const auto decay = [](const Array&, const Array& y) { return -y; };
  EXPECT_EQ(error_of_call([&] {
              diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, array({1.}),
                          {.saveat = {.ts = {0.5}}, .adjoint = Adjoint::SteadyState});
            }),
            "steady_saveat");
}

}  // namespace
}  // namespace apsis::testing
