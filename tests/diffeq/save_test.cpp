// What is saved of a solve: functions of time and state, several requests at once, and how many rows there
// are.

#include <cmath>

#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

const PIDController adaptive{.rtol = 1e-8, .atol = 1e-10};
constexpr double inf = std::numeric_limits<double>::infinity();

// y'' = -y, and what is of interest about it.
struct Spring {
  Array x, v;
};
const auto pull = [](const Array&, const Spring& y) { return Spring{y.v, -y.x}; };
const Spring start{1., 0.};
struct Figures {
  Array energy;   // is constant
  Array right;    // whether it is right of its rest
  Array quarter;  // which turn it is in, i64
};
const auto figures = [](const Array& t, const Spring& y) {
  return Figures{0.5 * (y.x * y.x + y.v * y.v), y.x > 0., astype(floor(t / (M_PI / 2)), i64)};
};

Array energy_of(const Array&, const Spring& y) { return 0.5 * (y.x * y.x + y.v * y.v); }

// The concentrations of three species, of which a laboratory sees the share of the last.
TEST(Save, WhatAFunctionMakesOfTheState) {
  const SubSaveAt share([](const Array&, const Array& y) { return y[2] / sum(y); }, {.ts = {0., 1., 2.}});
  const auto kinetics = [](const Array& k) {
    return ODETerm{[=](const Array&, const Array& y) {
      return stack({-k[0] * y[0], k[0] * y[0] - k[1] * y[1], k[1] * y[1]});
    }};
  };
  const auto solve = [&](const Array& k) {
    return diffeqsolve(kinetics(k), Tsit5{}, 0., 2., {}, array({1., 0., 0.}), {.controller = adaptive},
                       share);
  };
  const Array k = array({1., 0.5});
  const auto sol = solve(k);
  static_assert(std::is_same_v<decltype(sol.ys), Array>);
  EXPECT_EQ(sol.ys.shape(), (Shape{3}));
  EXPECT_EQ(sol.rows.item<int>(), 3);
  const auto whole = diffeqsolve(kinetics(k), Tsit5{}, 0., 2., {}, array({1., 0., 0.}),
                                 {.controller = adaptive, .saveat = {.ts = {0., 1., 2.}}});
  expect_same_bits(sol.ts, whole.ts);
  const Array want = whole.ys(range(), 2) / sum(whole.ys, {.axis = 1});
  expect_near(sol.ys, want, 1e-15);
  // In every mode, by derivatives of both modes.
  const auto fit = [&](const Array& rates) { return sum(square(solve(rates).ys)); };
  const auto by_hand = [&](const Array& rates) {
    const auto s = diffeqsolve(kinetics(rates), Tsit5{}, 0., 2., {}, array({1., 0., 0.}),
                               {.controller = adaptive, .saveat = {.ts = {0., 1., 2.}}});
    return sum(square(s.ys(range(), 2) / sum(s.ys, {.axis = 1})));
  };
  expect_near(jit(grad(fit))(k), jit(grad(by_hand))(k), 1e-13);
  expect_near(jit(jacfwd(fit))(k), jit(grad(by_hand))(k), 1e-13);
  expect_near(jit(hessian(fit))(k), jit(hessian(by_hand))(k), 1e-12);
  const Array many = stack({k, 2. * k, 0.25 * k});
  const Array lanes = jit(vmap([&](const Array& rates) { return solve(rates).ys; }))(many);
  for (std::int64_t i = 0; i < 3; ++i)
    expect_near(Array(lanes[i]), jit([&](const Array& rates) { return solve(rates).ys; })(many[i]), 0.);
}

TEST(Save, SeveralRequestsEachWithItsOwnTimesAndType) {
  const auto solve = [](const Array& x0, const std::int64_t max_steps = 200) {
    return diffeqsolve(ODETerm{pull}, Dopri5{}, 0., 10., {}, Spring{x0, 0.},
                       {.controller = adaptive, .max_steps = max_steps},
                       std::tuple{SubSaveAt({.t0 = true, .ts = {1., 2.}}),
                                  SubSaveAt(figures, {.steps = 3, .t1 = true}), SubSaveAt(energy_of)});
  };
  const auto sol = solve(1.);
  const auto& [states, made, energy] = sol.ys;
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(states)>, Spring>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(made)>, Figures>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(energy)>, Array>);
  EXPECT_EQ(std::get<0>(sol.ts).to_vector<double>(), (std::vector{0., 1., 2.}));
  EXPECT_NEAR(states.x[2].item<double>(), std::cos(2.), 1e-7);
  // Outside of jit there are as many rows as there was something to save.
  const auto accepted = sol.stats.num_accepted_steps.item<std::int64_t>();
  EXPECT_EQ(std::get<1>(sol.rows).item<std::int64_t>(), accepted / 3 + 1);
  EXPECT_EQ(made.energy.shape(), (Shape{accepted / 3 + 1}));
  EXPECT_EQ(made.quarter.dtype(), i64);
  EXPECT_EQ(made.right.dtype(), Dtype::Bool);
  expect_near(made.energy, full_like(made.energy, 0.5), 1e-7);
  const Array quarters = astype(floor(std::get<1>(sol.ts) / (M_PI / 2)), i64);
  EXPECT_EQ(made.quarter.to_vector<int>(), quarters.to_vector<int>());
  EXPECT_EQ(energy.shape(), (Shape{1}));
  EXPECT_EQ(std::get<2>(sol.ts).to_vector<double>(), (std::vector{10.}));

  // Under jit there is room for all, and a count; unused rows say so.
  const auto staged = jit([&](const Array& x0) {
    const auto s = solve(x0);
    return std::tuple(std::get<1>(s.ts), std::get<1>(s.ys), std::get<1>(s.rows));
  });
  const auto [ts, padded, rows] = staged(array(1.));
  EXPECT_EQ(ts.shape(), (Shape{200 / 3 + 1}));
  EXPECT_EQ(rows.item<std::int64_t>(), accepted / 3 + 1);
  expect_near(Array(padded.energy[range(0, accepted / 3)]), Array(made.energy[range(0, -1)]), 1e-14);
  EXPECT_EQ(ts[-2].item<double>(), inf);
  EXPECT_EQ(padded.energy[-2].item<double>(), inf);
  EXPECT_EQ(padded.quarter[-2].item<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_FALSE(padded.right[-2].item<bool>());
  EXPECT_EQ(ts[-1].item<double>(), 10.);
  // Lanes are as long as one another.
  const auto lanes = jit(vmap([&](const Array& x0) {
    const auto s = solve(x0);
    return std::pair(std::get<1>(s.ys).energy, std::get<1>(s.rows));
  }))(array({1., 2., 0.}));
  expect_same_bits(Array(lanes.first[0]), padded.energy);
  EXPECT_EQ(lanes.second[0].item<std::int64_t>(), accepted / 3 + 1);
}

TEST(Save, InVectorsPairsAndNested) {
  std::vector<SubSaveAt<>> each;
  for (int i = 1; i <= 3; ++i) each.push_back(SubSaveAt({.ts = linspace(0., 1., i)}));
  const auto sol = diffeqsolve(ODETerm{pull}, Tsit5{}, 0., 1., {}, start, {.controller = adaptive},
                               std::pair{each, std::array{SubSaveAt(energy_of), SubSaveAt(energy_of)}});
  ASSERT_EQ(sol.ys.first.size(), 3u);
  EXPECT_EQ(sol.ys.first[2].x.shape(), (Shape{3}));
  EXPECT_EQ(sol.ts.first[1].to_vector<double>(), (std::vector{0., 1.}));
  EXPECT_NEAR(sol.ys.second[1][0].item<double>(), 0.5, 1e-8);
  EXPECT_NE(to_string(sol).find("ts.first[2]"), std::string::npos) << to_string(sol);
}

// Backwards, through jumps of the state, and where the solve ends at once, the function sees the user's time.
TEST(Save, FunctionsSeeTheTimesOfTheUser) {
  const SubSaveAt clock([](const Array& t, const Array&) { return t; },
                        {.t0 = true, .ts = {1.5, 1.25}, .steps = 2, .t1 = true});
  const auto decay = [](const Array&, const Array& y) { return -y; };
  const auto back = diffeqsolve(ODETerm{decay}, Tsit5{}, 2., 1., {}, 1., {.controller = adaptive}, clock);
  expect_same_bits(back.ys, back.ts);
  EXPECT_EQ(back.ts[0].item<double>(), 2.);
  EXPECT_EQ(back.ts[-1].item<double>(), 1.);
  const auto nowhere = diffeqsolve(ODETerm{decay}, Tsit5{}, 2., 2., {}, 1., {.controller = adaptive},
                                   SubSaveAt([](const Array& t, const Array& y) { return t + y; },
                                             {.t0 = true, .ts = {2., 2.}, .steps = 2, .t1 = true}));
  EXPECT_EQ(nowhere.ys.to_vector<double>(), (std::vector{3., 3., 3., 3.}));
  // An event ends the solve: what was saved before it is there.
  const auto ended = diffeqsolve(
      ODETerm{decay}, Tsit5{}, 0., 2., {}, 1.,
      {.controller = adaptive, .events = {Event{[](const Array&, const Array& y) { return y - 0.5; }}}},
      SubSaveAt([](const Array& t, const Array& y) { return y * exp(t); }, {.ts = {0.25, 0.5, 1.}}));
  EXPECT_NEAR(ended.ys[1].item<double>(), 1., 1e-7);
  EXPECT_EQ(ended.ys[2].item<double>(), inf);
  EXPECT_EQ(ended.rows.item<int>(), 2);
}

// What a function captures is a parameter of the solve, in f32, too.
TEST(Save, FunctionsHaveParameters) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  const auto scaled = [&](const Array& weight) {
    const auto sol = diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., {}, array({1.f, 2.f}),
                                 {.controller = PIDController{.rtol = 1e-4, .atol = 1e-5}},
                                 SubSaveAt([=](const Array&, const Array& y) { return dot(weight, y); }));
    EXPECT_EQ(sol.ys.dtype(), f32);
    return sum(sol.ys);
  };
  const Array g = jit(grad(scaled))(array({1.f, 1.f}));
  EXPECT_NEAR(g[1].item<float>(), 2 * std::exp(-1.f), 1e-4);
}

TEST(Save, Misuse) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  const auto id = [&](const SolveOptions& options, const auto& saves) {
    return error_of_call(
        [&] { (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, 1., options, saves); });
  };
  EXPECT_EQ(id({.saveat = {.t1 = true}}, SubSaveAt({.t0 = true})), "saveat_twice");
  EXPECT_EQ(id({}, std::tuple{SubSaveAt({.t0 = true}), SubSaveAt({.ts = {0.5, 0.25}})}),
            "save_times_unsorted");
  EXPECT_EQ(id({}, SubSaveAt({.ts = array(0.5)})), "save_times");
  EXPECT_EQ(id({.max_steps = -1}, SubSaveAt({.steps = 1})), "steps_without_bound");
  EXPECT_EQ(id({}, SubSaveAt({.steps = -1})), "option_range");
  EXPECT_EQ(id({.adjoint = Adjoint::Reversible, .max_steps = 4}, SubSaveAt({.t1 = true})), "not_reversible");
  EXPECT_EQ(id({.adjoint = Adjoint::SteadyState}, SubSaveAt({.t0 = true})), "steady_saveat");
  EXPECT_EQ(id({}, SubSaveAt([](const Array&, const Array&) { return std::vector<Array>(); })),
            "save_nothing");
}

}  // namespace
}  // namespace apsis::testing
