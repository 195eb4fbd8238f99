// Gradients by the adjoint equation.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

struct Wave {
  Array p;
  Array operator()(const Array& t, const Array& y) const {
    return stack({p[0] * y[0] * cos(t), p[1] - y[1] * y[2], y[1] * y[2] - 0.1 * y[2]});
  }
};
struct Inputs {
  Array p, y0;
};
const Inputs in{array({0.7, 0.3}), array({1., 1., 0.5})};
const PIDController pid{.rtol = 1e-9, .atol = 1e-11};

auto loss_by(Adjoint adjoint, const auto& solver, const BacksolveOptions& back = {}, double from = 0.,
             double to = 2.) {
  return [=](const Inputs& given) {
    const Array ts = array({0.9 * from + 0.1 * to, 0.5 * (from + to), to});
    const auto sol = diffeqsolve(ODETerm{Wave{given.p}}, solver, from, to, {}, given.y0,
                                 {.controller = pid,
                                  .saveat = {.t0 = true, .ts = ts},
                                  .adjoint = adjoint,
                                  .backsolve = back,
                                  .max_steps = 100'000});
    const Array weights = reshape(arange(12.), {4, 3}) + 1.;
    return sum(weights * sol.ys * sol.ys);
  };
}

TEST(Backsolve, GradientsAreThoseOfTheEquation) {
  for (const Named& n : whole_solvers()) {
    if (n.solver.traits().order < 3 || n.name == "bosh3" || n.name == "kvaerno3" || n.name == "ndf2")
      continue;
    SCOPED_TRACE(n.name);
    for (double to : {2., -1.}) {
      const Inputs exact = jit(grad(loss_by(Adjoint::Steps, n.solver, {}, 0., to)))(in);
      const Inputs back = jit(grad(loss_by(Adjoint::Backsolve, n.solver, {}, 0., to)))(in);
      expect_near(back, exact, 1e-5);
    }
  }
}

TEST(Backsolve, InEveryMode) {
  const auto loss = loss_by(Adjoint::Backsolve, Tsit5{});
  const Inputs compiled = jit(grad(loss))(in);
  expect_near(grad(loss)(in), compiled, 1e-12);
  const Inputs many{stack({in.p, 2. * in.p}), stack({in.y0, 0.5 * in.y0})};
  const Inputs lanes = jit(vmap(grad(loss)))(many);
  expect_near(Array(lanes.p[0]), compiled.p, 1e-12);
  const Inputs other = jit(grad(loss))(Inputs{2. * in.p, 0.5 * in.y0});
  expect_near(Array(lanes.y0[1]), other.y0, 1e-12);
  // The value is that of the solve.
  EXPECT_EQ(loss(in).item<double>(), loss_by(Adjoint::Steps, Tsit5{})(in).item<double>());
}

// The parameters' cotangents are sums that do not act back: the seminorm takes fewer steps for them.
TEST(Backsolve, BySeminormAndOwnController) {
  const Inputs exact = jit(grad(loss_by(Adjoint::Steps, Tsit5{})))(in);
  expect_near(jit(grad(loss_by(Adjoint::Backsolve, Tsit5{}, {.seminorm = true})))(in), exact, 1e-6);
  const BacksolveOptions loose{.controller = PIDController{.rtol = 1e-3, .atol = 1e-5}};
  const Inputs rough = jit(grad(loss_by(Adjoint::Backsolve, Tsit5{}, loose)))(in);
  expect_near(rough, exact, 1e-2);
  EXPECT_NE(rough.p[0].item<double>(), exact.p[0].item<double>());
}

// Solvers that split an equation split its adjoint.
TEST(Backsolve, OfSplitEquations) {
  const auto loss = [](Adjoint adjoint) {
    return [=](const Array& k) {
      const auto slow = [=](const Array& t, const Array& y) { return k * sin(t) * y; };
      const auto fast = [=](const Array&, const Array& y) { return -10. * k * y; };
      const auto sol = diffeqsolve(MultiTerm{ODETerm{slow}, ODETerm{fast}}, KenCarp4{}, 0., 0.3, {},
                                   array({1., 2.}), {.controller = pid, .adjoint = adjoint});
      return sum(sol.ys);
    };
  };
  expect_near(jit(grad(loss(Adjoint::Backsolve)))(array(0.5)), jit(grad(loss(Adjoint::Steps)))(array(0.5)),
              1e-6);
}

TEST(Backsolve, WhatItIsNotFor) {
  const auto id = [](const SolveOptions& given) {
    return error_of_call([&] {
      SolveOptions options = given;
      options.adjoint = Adjoint::Backsolve;
      (void)diffeqsolve(ODETerm{Wave{in.p}}, Tsit5{}, 0., 1., {}, in.y0, options);
    });
  };
  const Event some{[](const Array&, const Array& y) { return y[0] - 2.; }};
  EXPECT_EQ(id({.controller = pid, .events = {some}}), "backsolve_without");
  EXPECT_EQ(id({.controller = pid, .saveat = {.dense = true}}), "backsolve_without");
  EXPECT_EQ(id({.controller = pid, .saveat = {.steps = 1}}), "backsolve_without");
  EXPECT_EQ(id({.controller = StepTo{{0., 1.}}}), "backsolve_controller");
  EXPECT_EQ(id({.controller = PIDController{.rtol = 1e-6, .atol = std::vector{array(1e-6)}}}),
            "backsolve_controller");
  // Nor for paths: neither for data nor for noise.
  const auto words = [](const auto& path) {
    const auto field = [](const Array&, const Array& y) { return y; };
    try {
      (void)diffeqsolve(MultiTerm{ODETerm{field}, ControlTerm{field, path}}, Heun{}, 0., 1., 0.1,
                        array({1., 2.}), {.adjoint = Adjoint::Backsolve});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const char* refused =
      "Adjoint::Backsolve does not go together with a ControlTerm or a term of your own: leave one of them "
      "out";
  EXPECT_NE(words(LinearInterpolation{array({0., 1.}), array({{0., 1.}, {3., 2.}})}).find(refused),
            std::string::npos);
  EXPECT_NE(words(VirtualBrownianTree(0., 1., 1e-3, {2}, random::key(1))).find(refused), std::string::npos);
  // Forward mode, times and second derivatives are refused where they are asked for.
  const auto loss = loss_by(Adjoint::Backsolve, Tsit5{});
  const auto by_parameters = [&](const Array& p) { return loss({p, in.y0}); };
  EXPECT_THROW((void)jit(jacfwd(by_parameters))(in.p), Error);
  const auto by_time = [](const Array& t1) {
    return sum(diffeqsolve(ODETerm{Wave{in.p}}, Tsit5{}, 0., t1, {}, in.y0,
                           {.controller = pid, .adjoint = Adjoint::Backsolve})
                   .ys);
  };
  EXPECT_THROW((void)grad(by_time)(array(1.)), Error);
  EXPECT_THROW((void)jit(jacrev(grad(by_parameters)))(in.p), Error);
}

}  // namespace
}  // namespace apsis::testing
