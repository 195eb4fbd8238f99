// The solution between the steps: Diffrax's values and derivatives, trees, adaptive solves, events, lanes,
// gradients.

#include <cmath>

#include "diffeq/refused.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::expect_same;
using golden::to_array;

template <class S>
void check_case(const Case& c, const S& solver) {
  const Array steps = to_array(c["steps"]), at = to_array(c["at"]), p = to_array(c["parameters"]);
  const auto field = [&](const Array&, const Array& y) {
    return stack({y[0] * (p[0] - p[1] * y[1]), y[1] * (p[3] * y[0] - p[2])});
  };
  const auto look = [&](const Array& y0) {
    const auto sol = diffeqsolve(ODETerm{field}, solver, steps[0], steps[-1], {}, y0,
                                 {.controller = StepTo{steps}, .saveat = {.dense = true}, .max_steps = 16});
    const auto path = dense_interpolation(solver, sol);
    return vmap([&](const Array& t) { return std::pair{path.evaluate(t), path.derivative(t)}; })(at);
  };
  const auto [values, slopes] = jit(look)(to_array(c["y0"]));
  expect_same(values, c["values"], 1e-12, "values");
  // At steps of Bosh3, and such solvers, the derivative comes from one side.
  expect_same(slopes, c["slopes"], 1e-11, "slopes");
}

TEST(Dense, EqualsDiffrax) {
  int cases = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/dense.txt")) {
    SCOPED_TRACE(c.name);
    if (c.name == "euler") check_case(c, Euler{});
    if (c.name == "bosh3") check_case(c, Bosh3{});
    if (c.name == "tsit5" || c.name == "tsit5_back") check_case(c, Tsit5{});
    if (c.name == "dopri5") check_case(c, Dopri5{});
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

struct Oscillator {
  Array position, velocity;
};
const auto spring = [](const Array&, const Oscillator& y) { return Oscillator{y.velocity, -y.position}; };
const PIDController tight{.rtol = 1e-10, .atol = 1e-10};

template <class S>
auto spring_path(const S& solver, const Array& start) {
  return dense_interpolation(solver,
                             diffeqsolve(ODETerm{spring}, solver, 0., 6., {}, Oscillator{start, 0. * start},
                                         {.controller = tight, .saveat = {.dense = true}, .max_steps = 500}));
}

TEST(Dense, IsTheSolutionEverywhere) {
  const auto path = spring_path(Tsit5{}, 2.);
  for (const double t : {0., 0.3, 1., 2.718, 5.9, 6.}) {
    // The interpolant's error is of the order of the tolerance.
    EXPECT_NEAR(path.evaluate(t).position.item<double>(), 2 * std::cos(t), 1e-7);
    EXPECT_NEAR(path.derivative(t).position.item<double>(), -2 * std::sin(t), 1e-5);
  }
  EXPECT_NEAR(path.evaluate(1., 3.).position.item<double>(), 2 * (std::cos(3) - std::cos(1)), 1e-7);
  EXPECT_EQ(path.t0().item<double>(), 0);
  EXPECT_EQ(path.t1().item<double>(), 6);
  EXPECT_TRUE(std::isnan(path.evaluate(6.5).position.item<double>()));
  EXPECT_TRUE(std::isnan(path.evaluate(-0.1).velocity.item<double>()));
  const auto stiff = spring_path(Rodas5P{}, 2.);
  EXPECT_NEAR(stiff.evaluate(2.5).position.item<double>(), 2 * std::cos(2.5), 1e-6);
}

TEST(Dense, OfNoStepsIsTheStart) {
  const auto solve = [](const Array& t1) {
    const auto sol = diffeqsolve(ODETerm{spring}, Tsit5{}, 1., t1, {}, Oscillator{3., 4.},
                                 {.controller = tight, .saveat = {.dense = true}, .max_steps = 50});
    return dense_interpolation(Tsit5{}, sol).evaluate(1.).velocity;
  };
  EXPECT_EQ(jit(solve)(1.).item<double>(), 4);
  EXPECT_EQ(jit(solve)(1.5).item<double>(), 4);
}

TEST(Dense, LanesAndGradients) {
  const auto at = [](const Array& start, const Array& t) {
    return spring_path(Tsit5{}, start).evaluate(t).position;
  };
  const Array starts = array({0.5, 1., 2.}), times = array({0.7, 3., 5.5});
  const Array together = jit(vmap(at))(starts, times);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(together[i].item<double>(), at(starts[i], times[i]).item<double>(), 1e-12);
  const auto by_start = [&](const Array& s) { return at(s, 2.2); };
  const auto by_time = [&](const Array& t) { return at(1.5, t); };
  EXPECT_NEAR(jit(grad(by_start))(1.5).item<double>(), std::cos(2.2), 1e-7);
  EXPECT_NEAR(jit(grad(by_time))(2.2).item<double>(), -1.5 * std::sin(2.2), 1e-5);
}

TEST(Dense, StepsThatEventsCutShort) {
  // A ball bounces at t = 1: y = 1 - t² / 1, then up again with half the speed.
  const auto fall = [](const Array&, const Array& y) { return stack({y[1], full_like(y[0], -2.)}); };
  const Event bounce{.condition = [](const Array&, const Array& y) { return y[0]; },
                     .change =
                         [](const Array&, const Array& y) {
                           return stack({y[0], -0.5 * y[1]});
                         }};
  const auto sol = diffeqsolve(ODETerm{fall}, Tsit5{}, 0., 1.5, 0.4, array({1., 0.}),
                               {.saveat = {.dense = true}, .events = {bounce}, .max_steps = 50});
  const auto path = dense_interpolation(Tsit5{}, sol);
  EXPECT_NEAR(path.evaluate(0.95)[0].item<double>(), 1 - 0.95 * 0.95, 1e-12);
  EXPECT_NEAR(path.evaluate(1.2)[0].item<double>(), 0.2 - 0.04, 1e-12);
}

}  // namespace
}  // namespace apsis::testing
