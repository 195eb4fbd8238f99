// Equations with delays: known solutions, orders, every way to run them, derivatives, what is refused.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "diffeq/refused.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::to_array;

const PIDController tight{.rtol = 1e-10, .atol = 1e-10};

// y' = -y(t - 1), y = 1 up to 0: Σ (-1)^k (t - k + 1)^k / k! over k ≤ t + 1, by the method of steps.
double exact(double t) {
  double sum = 1, factorial = 1;
  for (int k = 1; k <= static_cast<int>(std::floor(t)) + 1; ++k) {
    factorial *= k;
    sum += (k % 2 == 0 ? 1 : -1) * std::pow(t - k + 1, k) / factorial;
  }
  return sum;
}

const auto one = [](const Array& t) { return ones_like(t); };
const auto minus_past = [](const Array& t, const Array&, const Past<Array>& past) { return -past(t - 1.); };

TEST(Delay, KnownSolution) {
  const Array ts = linspace(0., 6., 61);
  const auto sol = diffeqsolve(DelayTerm{minus_past, one, {1.}}, Tsit5{}, 0., 6., {}, 1.,
                               {.controller = tight, .saveat = {.ts = ts}});
  for (std::int64_t i = 0; i < ts.size(); ++i)
    EXPECT_NEAR(sol.ys[i].item<double>(), exact(ts[i].item<double>()), 1e-9) << i;
  // Up to t = 4 the solution is a polynomial of degree 5 or less in each piece: without the points where
  // these meet steps would be rejected there.
  EXPECT_LT(sol.stats.num_rejected_steps.item<std::int64_t>(), 3);
}

TEST(Delay, AllSolversHaveTheirOrder) {
  for (const Named& s : whole_solvers({.rtol = 1e-12, .atol = 1e-12})) {
    if (s.name == "rkc" || s.name == "vern9") continue;  // below: rounding, before the order is seen
    SCOPED_TRACE(s.name);
    const auto error = [&](double h) {
      const auto sol = diffeqsolve(DelayTerm{[](const Array& t, const Array& y, const Past<Array>& past) {
                                               return cos(t) * y - 0.5 * past(t - 1.);
                                             },
                                             [](const Array& t) { return exp(t); },
                                             {1.}},
                                   s.solver, 0., 2.5, h, 1.);
      return sol.ys[-1].item<double>();
    };
    const double best = error(1. / 512), coarse = std::abs(error(1. / 8) - best),
                 fine = std::abs(error(1. / 32) - best);
    if (fine < 1e-12) continue;
    EXPECT_GT(std::log(coarse / fine) / std::log(4.), std::min(s.output, s.solver.traits().order) - 0.6);
  }
}

TEST(Delay, MackeyAndGlassAgainstCollocation) {
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/delay.txt")) {
    SCOPED_TRACE(c.name);
    const Array ts = to_array(c["ts"]), want = to_array(c["values"]);
    Array got;
    const SolveOptions options{.controller = PIDController{.rtol = 1e-10, .atol = 1e-12},
                               .saveat = {.ts = ts}};
    if (c.name == "mackey_glass") {
      const auto field = [](const Array& t, const Array& y, const Past<Array>& past) {
        const Array before = past(t - 17.);
        return 0.2 * before / (1. + pow(before, 10.)) - 0.1 * y;
      };
      got = diffeqsolve(DelayTerm{field, [](const Array& t) { return full_like(t, 1.2); }, {17.}}, Vern7{},
                        0., ts[-1], {}, 1.2, options)
                .ys;
    } else {
      ASSERT_EQ(c.name, "two_delays");
      const auto field = [](const Array& t, const Array& y, const Past<Array>& past) {
        return stack({-past(t - 1.)[0] * past(t - 0.3)[1], 0.5 * past(t - 1.)[0] - y[1]});
      };
      got = diffeqsolve(DelayTerm{field,
                                  [](const Array& t) {
                                    return stack({cos(t), sin(t)});
                                  },
                                  {1., 0.3}},
                        Vern7{}, 0., ts[-1], {}, array({1., 0.}), options)
                .ys;
    }
    EXPECT_LT(max(abs(got - want)).item<double>(), 1e-8);
  }
}

struct Growth {
  Array rate, delay, level;
};
/// A logistic equation with a delay, whose history is not what it starts with: the slope jumps.
auto end_of(const Growth& g, const Array& y0) {
  const auto field = [g](const Array& t, const Array& y, const Past<Array>& past) {
    return g.rate * y * (1. - past(t - g.delay));
  };
  const auto before = [g](const Array& t) { return g.level * (1. + 0.1 * t); };
  return diffeqsolve(DelayTerm{field, before, g.delay}, Tsit5{}, 0., 3., {}, y0,
                     {.controller = PIDController{.rtol = 1e-9, .atol = 1e-9}, .max_steps = 200})
      .ys[-1];
}

TEST(Delay, DerivativesAgreeWithDifferences) {
  const Growth g{array(1.3), array(0.7), array(0.4)};
  const Array y0 = array(0.5);
  const auto [value, by] = jit(value_and_grad<0, 1>(end_of))(g, y0);
  EXPECT_NEAR(value.item<double>(), end_of(g, y0).item<double>(), 1e-13);
  const auto difference = [&](auto change) {
    constexpr double h = 1e-4;
    const auto at = [&](double x) {
      Growth moved = g;
      Array start = y0;
      change(moved, start, x);
      return end_of(moved, start).item<double>();
    };
    return (at(h) - at(-h)) / (2 * h);
  };
  // The differences are off by h² and by the solves' tolerance over h.
  EXPECT_NEAR(std::get<0>(by).rate.item<double>(),
              difference([](Growth& m, Array&, double x) { m.rate = m.rate + x; }), 3e-5);
  EXPECT_NEAR(std::get<0>(by).level.item<double>(),
              difference([](Growth& m, Array&, double x) { m.level = m.level + x; }), 3e-5);
  EXPECT_NEAR(std::get<0>(by).delay.item<double>(),
              difference([](Growth& m, Array&, double x) { m.delay = m.delay + x; }), 3e-5);
  EXPECT_NEAR(std::get<1>(by).item<double>(), difference([](Growth&, Array& y, double x) { y = y + x; }),
              3e-5);
  // Forward mode and second order.
  const auto of_rate = [&](const Array& r) { return end_of({r, g.delay, g.level}, y0); };
  const Array forward = jvp(of_rate, g.rate, array(1.)).second;
  EXPECT_NEAR(forward.item<double>(), std::get<0>(by).rate.item<double>(), 1e-9);
  const double twice = grad(grad(of_rate))(g.rate).item<double>();
  const double differences =
      (grad(of_rate)(g.rate + 1e-4).item<double>() - grad(of_rate)(g.rate - 1e-4).item<double>()) / 2e-4;
  EXPECT_NEAR(twice, differences, 1e-4 * std::abs(differences) + 1e-4);
}

TEST(Delay, LanesEqualSingleSolves) {
  const Array delays = linspace(0.3, 1.5, 9), y0 = linspace(0.2, 1.8, 9);
  const auto end = [](const Array& delay, const Array& y) {
    return end_of({array(1.3), delay, array(0.4)}, y);
  };
  const Array all = jit(vmap(end))(delays, y0);
  const auto single = jit(end);
  for (std::int64_t i = 0; i < 9; ++i) expect_same_bits(Array(all[i]), single(delays[i], y0[i]));
  const Array slopes = jit(vmap(grad(end)))(delays, y0);
  const auto slope = jit(grad(end));
  for (std::int64_t i : {0, 4, 8})
    EXPECT_NEAR(slopes[i].item<double>(), slope(delays[i], y0[i]).item<double>(), 1e-10);
}

struct Pair {
  Array x, v;
};

TEST(Delay, TreesDenseOutputEventsAndBack) {
  const auto field = [](const Array& t, const Pair& y, const Past<Pair>& past) {
    return Pair{past(t - 0.5).v, -past(t - 0.5).x + 0. * y.x};
  };
  const auto before = [](const Array& t) { return Pair{cos(t), sin(t)}; };
  const DelayTerm term{field, before, {0.5}};
  const auto sol = diffeqsolve(term, Dopri5{}, 0., 4., {}, Pair{1., 0.},
                               {.controller = tight, .saveat = {.ts = {1.7, 4.}, .dense = true}});
  const auto path = dense_interpolation(Dopri5{}, sol);
  EXPECT_NEAR(path.evaluate(1.7).x.item<double>(), sol.ys.x[0].item<double>(), 1e-12);
  // It ends where x becomes negative.
  const auto until =
      diffeqsolve(term, Dopri5{}, 0., 4., {}, Pair{1., 0.},
                  {.controller = tight,
                   .saveat = {.dense = true},
                   .events = {Event{.condition = [](const Array&, const Pair& y) { return y.x; }}}});
  EXPECT_NEAR(path.evaluate(until.ts[-1]).x.item<double>(), 0, 1e-8);
  // y(-t) solves the equation with f(-t), and the past ahead.
  const auto back = diffeqsolve(
      DelayTerm{
          [](const Array& t, const Array&, const Past<Array>& past) { return past(t + 1.); }, one, {1.}},
      Tsit5{}, 0., -3.5, {}, 1., {.controller = tight});
  EXPECT_NEAR(back.ys[-1].item<double>(), exact(3.5), 1e-9);
}

TEST(Delay, SinglePrecisionAndStiff) {
  const Solution<Array> sol =
      diffeqsolve(DelayTerm{minus_past, one, {1.}}, Tsit5{}, 0.f, 3.5f, {}, full({}, 1., f32),
                  {.controller = PIDController{.rtol = 1e-5f, .atol = 1e-5f}, .max_steps = 100});
  EXPECT_EQ(sol.ys.dtype(), f32);
  EXPECT_NEAR(sol.ys[-1].item<float>(), exact(3.5), 1e-4);
  // y' = -1000 (y - y(t - 1)) + …: the slow solution is y = sin t.
  const auto stiff = [](const Array& t, const Array& y, const Past<Array>& past) {
    return -1000. * (y - sin(t)) + cos(t) + 0.3 * (past(t - 1.) - sin(t - 1.));
  };
  const auto slow = diffeqsolve(DelayTerm{stiff, [](const Array& t) { return sin(t); }, {1.}}, Rodas5P{}, 0.,
                                10., {}, 0., {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}});
  EXPECT_NEAR(slow.ys[-1].item<double>(), std::sin(10.), 1e-6);
  EXPECT_LT(slow.stats.num_steps.item<std::int64_t>(), 300);
}

// Of a state large enough that the pattern of its Jacobian is looked for, by solvers that make one.
TEST(Delay, LargeStiffStates) {
  const Array x = arange(40.) / 40.;
  const auto slow = [&](const Array& t) { return sin(t + x); };
  const auto field = [&](const Array& t, const Array& y, const Past<Array>& past) {
    const Array d = y - slow(t), left = concatenate({zeros({1}), d[range(0, -1)]});
    return -1000. * d + 200. * left + cos(t + x) + 0.3 * (past(t - 1.) - slow(t - 1.));
  };
  const DelayTerm term{field, slow, {1.}};
  for (const Named& n : whole_solvers()) {
    if (n.name != "rodas5p" && n.name != "radau5" && n.name != "ndf2" && n.name != "kvaerno5") continue;
    SCOPED_TRACE(n.name);
    const auto sol = diffeqsolve(term, n.solver, 0., 5., {}, slow(0.),
                                 {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}});
    expect_near(Array(sol.ys[-1]), slow(5.), 1e-5);
  }
}

TEST(Delay, WhatIsRefused) {
  const auto with = [](const Array& delays) {
    return diffeqsolve(DelayTerm{minus_past, one, delays}, Tsit5{}, 0., 2., {}, 1., {.controller = tight});
  };
  expect_refused("delay_range", with, array({-1.}), array({1.}));
  expect_refused("delay_range", with, array({0.}), array({0.5}));
  EXPECT_EQ(error_of_call([&] { with(zeros({2, 2})); }), "delays_shape");
  // A delay that is not given, shorter than the step.
  const auto forgotten = [] { diffeqsolve(DelayTerm{minus_past, one, {1.5}}, Tsit5{}, 0., 3., 1.25, 1.); };
  EXPECT_EQ(error_of_call(forgotten), "past_too_late");
}

}  // namespace
}  // namespace apsis::testing
