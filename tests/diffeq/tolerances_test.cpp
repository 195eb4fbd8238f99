// Tolerances for each array of the state, arrays that do not count, and norms of one's own.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// A fast oscillation that nobody asked for, beside a slow decay.
struct State {
  Array fast, slow;
};
const auto field = [](const Array&, const State& y) {
  return State{stack({50. * y.fast[1], -50. * y.fast[0]}), -y.slow};
};
const State start{array({1., 0.}), array({1., 2., 3.})};

template <class Bound>
auto solve_by(const auto& solver, const Bound& atol, const Tolerance& rtol = 1e-8) {
  return diffeqsolve(ODETerm{field}, solver, 0., 1., {}, start,
                     {.controller = PIDController{.rtol = rtol, .atol = atol}, .max_steps = 100'000});
}
std::int64_t steps(const auto& sol) { return sol.stats.num_steps.template item<std::int64_t>(); }

/// Of each family one.
std::vector<Named> some_solvers() {
  std::vector<Named> some;
  for (const Named& n : whole_solvers())
    for (const char* name : {"tsit5", "kvaerno5", "rodas5p", "radau5", "ndf2"})
      if (n.name == name) some.push_back(n);
  return some;
}

TEST(Tolerances, OfEachArrayOfTheState) {
  // As one array for all, in every solver's hands.
  for (const Named& n : some_solvers()) {
    SCOPED_TRACE(n.name);
    const auto one = solve_by(n.solver, 1e-5, 1e-5),
               each = solve_by(n.solver, State{1e-5, 1e-5}, State{1e-5, 1e-5});
    expect_same_bits(each.ys, one.ys);
    EXPECT_EQ(steps(each), steps(one));
    // What is loose costs less.
    EXPECT_LT(steps(solve_by(n.solver, State{10., 1e-5}, State{0., 1e-5})), steps(one));
  }
  // Bounds broadcast to their array, and are parameters of the program.
  const auto traced = jit([](const State& atol) { return solve_by(Tsit5{}, atol).stats.num_steps; });
  const State bounds{array({1e-3, 1e-4}), array(1e-9)};
  EXPECT_EQ(traced(bounds).item<std::int64_t>(), steps(solve_by(Tsit5{}, bounds)));
  const auto leaves =
      diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1., {}, start,
                  {.controller = PIDController{.rtol = std::vector{array(1e-6), array(1e-6)}, .atol = 1e-9}});
  expect_same_bits(leaves.ys, solve_by(Tsit5{}, 1e-9, 1e-6).ys);
}

TEST(Tolerances, ArraysThatAreLeftOut) {
  const auto alone = [](const auto& solver) {
    return diffeqsolve(ODETerm{[](const Array&, const Array& y) { return -y; }}, solver, 0., 1., {},
                       start.slow,
                       {.controller = PIDController{.rtol = 1e-8, .atol = 1e-10}, .max_steps = 100'000});
  };
  for (const Named& n : some_solvers()) {
    SCOPED_TRACE(n.name);
    // Steps are those of the rest alone: neither its errors nor its elements count.
    const auto rest = solve_by(n.solver, State{inf, 1e-10});
    const auto want = alone(n.solver);
    EXPECT_NEAR(static_cast<double>(steps(rest)), static_cast<double>(steps(want)), 1);
    expect_near(rest.ys.slow, want.ys, 1e-9);
  }
  // Also where the program finds out, and element by element.
  const auto traced = jit([](const Array& atol) {
    return solve_by(Tsit5{}, State{atol, 1e-10}).stats.num_steps;
  });
  EXPECT_EQ(traced(array(inf)).item<std::int64_t>(), steps(solve_by(Tsit5{}, State{inf, 1e-10})));
  EXPECT_EQ(steps(solve_by(Tsit5{}, State{array({inf, inf}), 1e-10})),
            steps(solve_by(Tsit5{}, State{inf, 1e-10})));
}

struct Greatest {
  Array operator()(std::span<const Array> errors) const {
    Array most = 0.;
    for (const Array& e : errors) most = maximum(most, max(abs(e)));
    return most;
  }
};
struct OnlySlow {
  Array weight;
  Array operator()(std::span<const Array> errors) const { return weight * sqrt(mean(square(errors[1]))); }
};

TEST(Tolerances, ByANormOfOnesOwn) {
  const auto by = [](const auto& solver, const ErrorNorm& norm) {
    return diffeqsolve(
        ODETerm{field}, solver, 0., 1., {}, start,
        {.controller = PIDController{.rtol = 1e-6, .atol = 1e-6, .norm = norm}, .max_steps = 100'000});
  };
  for (const Named& n : whole_solvers()) {
    if (n.name != "tsit5" && n.name != "ndf2" && n.name != "radau5") continue;
    SCOPED_TRACE(n.name);
    EXPECT_GT(steps(by(n.solver, Greatest{})), steps(by(n.solver, {})));
    const auto left_out = solve_by(n.solver, State{inf, 1e-6}, 1e-6);
    EXPECT_EQ(steps(by(n.solver, OnlySlow{1.})), steps(left_out));
    EXPECT_GT(steps(by(n.solver, OnlySlow{100.})), steps(left_out));
  }
  // What it holds is a parameter; derivatives take steps as they are.
  const auto loss =
      jit(grad([&](const Array& weight) { return sum(by(Tsit5{}, OnlySlow{weight}).ys.slow); }));
  EXPECT_EQ(loss(array(2.)).item<double>(), 0.);
}

TEST(Tolerances, Misuse) {
  const auto id = [](const PIDController& c) {
    return error_of_call(
        [&] { (void)diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1., {}, start, {.controller = c}); });
  };
  EXPECT_EQ(id({.rtol = 1e-6, .atol = std::vector{array(1.), array(1.), array(1.)}}), "tolerance_leaves");
  EXPECT_EQ(id({.rtol = 1e-6, .atol = State{array({1., 1., 1.}), 1.}}), "tolerance_shape");
  EXPECT_EQ(id({.rtol = 1e-6, .atol = State{Array(), 1.}}), "missing_tolerance");
  EXPECT_EQ(id({.rtol = 1e-6, .atol = State{-1., 1.}}), "option_range");
  EXPECT_EQ(id({.rtol = State{0., 1e-6}, .atol = State{0., 1e-6}}), "no_tolerance");
  EXPECT_EQ(id({.rtol = 1e-6, .atol = inf}), "all_left_out");
  EXPECT_EQ(id({.rtol = inf, .atol = 1e-6}), "option_range");
  try {
    (void)diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1., {}, start,
                      {.controller = PIDController{.rtol = 1e-6, .atol = State{1e-6, -1.}}});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("[PIDController] atol of y0.slow is -1.0: "), std::string::npos)
        << e.what();
  }
  struct Wrong {
    Array operator()(std::span<const Array> errors) const { return errors[0]; }
  };
  EXPECT_EQ(id({.rtol = 1e-6, .atol = 1e-6, .norm = Wrong{}}), "error_norm");
}

// A state at rest is told by the same tolerances.
TEST(Tolerances, OfASteadyState) {
  const auto sol = diffeqsolve(ODETerm{[](const Array&, const State& y) {
                                 return State{-y.fast, -2. * y.slow};
                               }},
                               Tsit5{}, 0., 100., {}, start,
                               {.controller = PIDController{.rtol = 1e-6, .atol = State{1e-3, 1e-6}},
                                .events = {Event{SteadyState{}}}});
  EXPECT_TRUE(is_event(sol.result).item<bool>());
  EXPECT_LT(sol.ts[-1].item<double>(), 20.);
}

}  // namespace
}  // namespace apsis::testing
