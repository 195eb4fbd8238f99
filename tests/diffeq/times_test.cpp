// Times that a solve is given: which are refused, which are moved by rounding, and what is saved at them.

#include <cmath>

#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

const auto decay = [](const Array&, const Array& y) { return -y; };
const Array start = array({1., 2.});
const PIDController adaptive{.rtol = 1e-6, .atol = 1e-9};
constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

auto saving(double t0, double t1) {
  return [=](const Array& ts) {
    return diffeqsolve(ODETerm{decay}, Tsit5{}, t0, t1, {}, start,
                       {.controller = adaptive, .saveat = {.ts = ts}});
  };
}

TEST(Times, SaveTimesThatNoSolvePasses) {
  const Array right = array({0., 0.5, 1.}), back = array({1., 0.5, 0.});
  for (const Array& wrong : {array({0., 0.5, 0.4}), array({1., 0.5, 0.})})
    expect_refused("save_times_unsorted", saving(0., 1.), wrong, right);
  for (const Array& wrong : {array({-0.1, 0.5, 1.}), array({0., 0.5, 1.1}), array({nan, 0.5, 1.}),
                             array({0., nan, 1.}), array({0., 0.5, nan}), array({0., 0.5, inf})})
    expect_refused("save_time_outside", saving(0., 1.), wrong, right);
  expect_refused("save_times_unsorted", saving(1., 0.), right, back);
  expect_refused("save_time_outside", saving(1., 0.), array({1., 0.5, -0.1}), back);
}

TEST(Times, EndsAndFirstSteps) {
  const auto until = [](const Array& t1) {
    return diffeqsolve(ODETerm{decay}, Tsit5{}, 0., t1, {}, start, {.controller = adaptive});
  };
  for (double wrong : {nan, inf, -inf}) expect_refused("time_not_finite", until, array(wrong), array(1.));
  const auto by = [](double t0, double t1) {
    return [=](const Array& dt0) {
      return diffeqsolve(ODETerm{decay}, Tsit5{}, t0, t1, dt0, start, {.max_steps = -1});
    };
  };
  for (double wrong : {0., nan, inf})
    expect_refused("first_step_value", by(0., 1.), array(wrong), array(0.1));
  expect_refused("first_step_direction", by(0., 1.), array(-0.1), array(0.1));
  expect_refused("first_step_direction", by(1., 0.), array(0.1), array(-0.1));
  expect_refused("first_step_rounds", by(1., 2.), array(1e-17), array(0.1));
  expect_refused("first_step_rounds", by(-1., -2.), array(-1e-17), array(-0.1));
}

TEST(Times, StepsToTimes) {
  const auto steps = [](const Array& ts) {
    return diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, start, {.controller = StepTo{ts}});
  };
  const Array right = array({0., 0.5, 1.});
  for (const Array& wrong : {array({0., 0.5, 0.9}), array({0.1, 0.5, 1.}), array({1., 0.5, 0.}),
                             array({nan, 0.5, 1.}), array({0., 0.5, 2.})})
    expect_refused("step_to_ends", steps, wrong, right);
  for (const Array& wrong :
       {array({0., 1.5, 1.}), array({0., nan, 1.}), array({0., 0., 1.}), array({0., -1., 1.})})
    expect_refused("step_to_order", steps, wrong, right);
  // Up to rounding they are the ends.
  auto sol =
      diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 0.3, {}, start, {.controller = StepTo{{0., 0.1, 0.1 * 3}}});
  EXPECT_EQ(sol.ts.to_vector<double>(), (std::vector{0.3}));
  EXPECT_EQ(sol.stats.num_steps.item<int>(), 2);
}

// The others are not disturbed where the solve does not throw, and no step is made for what is refused.
TEST(Times, RefusalsAreResultsWhereNothingIsThrown) {
  auto solve = [](const Array& t1) {
    auto sol = diffeqsolve(ODETerm{decay}, Tsit5{}, 0., t1, 0.1, start,
                           {.controller = adaptive, .saveat = {.ts = {0., 0.5}}, .throw_ = false});
    return std::tuple(sol.result, sol.stats.num_steps, sol.ys, sol.ts);
  };
  const Array ends = array({1., nan, -2., 0.25, 0.5});
  auto [result, steps, ys, ts] = jit(vmap(solve))(ends);
  EXPECT_EQ(result.to_vector<int>(), (std::vector{0, 100, 100, 100, 0}));
  for (std::int64_t i = 0; i < 5; ++i) {
    auto [one, n, y, t] = solve(ends[i]);
    expect_same_bits(Array(result[i]), one);
    expect_same_bits(Array(steps[i]), n);
    expect_same_bits(Array(ys[i]), y);
    expect_same_bits(Array(ts[i]), t);
    EXPECT_EQ(n.item<int>() == 0, one.item<int>() == 100);
    if (one.item<int>() == 100) {
      EXPECT_TRUE(all(isinf(y)).item<bool>());
      EXPECT_TRUE(all(t == inf).item<bool>());
    }
  }
}

TEST(Times, BeyondTheEndsByRoundingAreTheEnds) {
  ASSERT_GT(0.1 * 3, 0.3);
  const auto sol = saving(0., 0.3)(array({0.1, 0.1 * 3}));
  EXPECT_EQ(sol.ts.to_vector<double>(), (std::vector{0.1, 0.3}));
  EXPECT_NEAR(Array(sol.ys[-1])[0].item<double>(), std::exp(-0.3), 1e-6);
  const auto back = saving(0.3, 0.)(array({0.1 * 3, 0.1}));
  EXPECT_EQ(back.ts.to_vector<double>(), (std::vector{0.3, 0.1}));
  expect_same_bits(Array(back.ys[0]), start);
  // In f32 too, where the times come from f32 sums.
  float t = 0;
  for (int i = 0; i < 10; ++i) t += 0.1f;
  ASSERT_GT(t, 1.f);
  const auto single = diffeqsolve(
      ODETerm{decay}, Tsit5{}, 0., 1., {}, astype(start, f32),
      {.controller = PIDController{.rtol = 1e-4, .atol = 1e-4}, .saveat = {.ts = array({0.5f, t})}});
  EXPECT_EQ(single.ts.dtype(), f32);
  EXPECT_EQ(single.ts[-1].item<float>(), 1.f);
}

// As in Diffrax, whose rows these are (SaveAt(t0=True, ts=..., steps=1)).
TEST(Times, SaveTimesAndStepsAreMerged) {
  const std::vector<double> want{0., 0.1, 0.25, 0.25, 0.5, 0.6, 0.75, 1., inf, inf};
  for (double sign : {1., -1.}) {
    const SaveAt save{.t0 = true, .ts = sign * array({0.1, 0.25, 0.6}), .steps = 1};
    auto solve = [=](const Array& y0) {
      auto sol =
          diffeqsolve(ODETerm{decay}, Tsit5{}, 0., sign, sign * 0.25, y0, {.saveat = save, .max_steps = 6});
      return std::pair(sol.ts, sol.ys);
    };
    auto [ts, ys] = jit(solve)(start);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double t = ts[static_cast<std::int64_t>(i)].item<double>();
      EXPECT_EQ(t, want[i] == inf ? inf : sign * want[i]);
      const Array y = ys[static_cast<std::int64_t>(i)];
      // Steps of 0.25 by a method of order five.
      EXPECT_TRUE(want[i] == inf ? all(y == inf).item<bool>()
                                 : std::abs(y[0].item<double>() * std::exp(t) - 1) < 1e-6);
    }
    // Outside of jit there are no more rows than are used.
    auto [used_ts, used_ys] = solve(start);
    expect_same_bits(used_ts, Array(ts[range(0, 8)]));
    expect_near(used_ys, Array(ys[range(0, 8)]), 1e-15);
    auto [lane_ts, lane_ys] = jit(vmap(solve))(stack({start, 2. * start}));
    expect_same_bits(Array(lane_ts[1]), ts);
    expect_same_bits(Array(lane_ys[0]), ys);
    // What is saved beside the save times does not change them, nor their gradients.
    const auto total = [&](bool merged) {
      return [=](const Array& y0) {
        SaveAt some = save;
        if (!merged) some.steps = 0;
        auto sol =
            diffeqsolve(ODETerm{decay}, Tsit5{}, 0., sign, sign * 0.25, y0, {.saveat = some, .max_steps = 6});
        const Array rows = merged ? sol.ys(array({1, 2, 5})) : sol.ys(range(1, {}));
        return sum(rows * rows);
      };
    };
    expect_near(jit(grad(total(true)))(start), jit(grad(total(false)))(start), 1e-15);
  }
}

TEST(Times, RowsThatAreNotUsedArePlusInfinity) {
  for (double sign : {1., -1.}) {
    const auto solve = [=](const SaveAt& save, std::int64_t max_steps) {
      return diffeqsolve(ODETerm{decay}, Tsit5{}, 0., sign, sign * 0.25, start,
                         {.saveat = save, .max_steps = max_steps, .throw_ = false});
    };
    const auto [ts, ys, rows] = jit([&] {
      const auto steps = solve({.steps = 2}, 9);
      return std::tuple(steps.ts, steps.ys, steps.rows);
    })();
    EXPECT_EQ(ts.to_vector<double>(), (std::vector{sign * 0.5, sign, inf, inf}));
    EXPECT_TRUE(all(ys(range(2, {})) == inf).item<bool>());
    EXPECT_EQ(rows.item<int>(), 2);
    EXPECT_EQ(solve({.steps = 2}, 9).ts.to_vector<double>(), (std::vector{sign * 0.5, sign}));
    // A solve that stops has not come to the later times.
    const auto stopped = solve({.ts = sign * array({0.1, 0.25, 0.6}), .t1 = true}, 2);
    EXPECT_EQ(stopped.ts.to_vector<double>(), (std::vector{sign * 0.1, sign * 0.25, inf, sign * 0.5}));
    EXPECT_TRUE(all(Array(stopped.ys[2]) == inf).item<bool>());
    EXPECT_EQ(stopped.result.item<int>(), 1);
  }
}

TEST(Times, WithoutAnInterval) {
  for (const Array& dt0 : {Array(), Array(0.), Array(0.1), Array(-0.1)}) {
    auto solve = [=](const Array& t) {
      auto sol = diffeqsolve(ODETerm{decay}, Tsit5{}, t, t, dt0, start,
                             {.controller = adaptive,
                              .saveat = {.t0 = true, .ts = stack({t, t}), .steps = 1, .t1 = true},
                              .max_steps = 2});
      return std::pair(sol.ts, sol.ys);
    };
    auto [ts, ys] = jit(solve)(array(3.));
    EXPECT_EQ(ts.to_vector<double>(), (std::vector{3., 3., 3., inf, inf, 3.}));
    for (std::int64_t i : {0, 1, 2, 5}) expect_same_bits(Array(ys[i]), start);
    EXPECT_TRUE(all(ys(range(3, 5)) == inf).item<bool>());
  }
}

TEST(Times, OfNumberZeroAndOne) {
  const auto none = saving(0., 1.)(zeros({0}));
  EXPECT_EQ(none.ts.shape(), (Shape{0}));
  EXPECT_EQ(none.ys.shape(), (Shape{0, 2}));
  const auto one = diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, start,
                               {.controller = adaptive, .saveat = {.ts = {0.5}}});
  EXPECT_EQ(one.ys.shape(), (Shape{1, 2}));
  EXPECT_NEAR(one.ys[0][0].item<double>(), std::exp(-0.5), 1e-6);
}

}  // namespace
}  // namespace apsis::testing
