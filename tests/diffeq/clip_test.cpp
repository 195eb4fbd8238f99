// Steps that must end at given times: Diffrax's, what jumps mean for the solver, derivatives, noise.

#include <cmath>

#include "diffeq/refused.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::to_array;

const PIDController pid{.rtol = 1e-6, .atol = 1e-8};
const auto switched = [](const Array& t, const Array& y) { return -y + where(1. <= t && t < 2.5, 1., 0.); };

template <class S>
void check_case(const Case& c, const S& solver) {
  const ClipStepSizeController controller{.controller = pid,
                                          .step_ts = to_array(c["step_ts"]),
                                          .jump_ts = to_array(c["jump_ts"]),
                                          .store_rejected_steps = to_array(c["store"]).item<std::int64_t>()};
  const double up = controller.jump_ts.size() > 0;
  const auto field = [up](const Array& t, const Array& y) {
    return cos(3. * t) - y + up * (switched(t, y) + y);
  };
  const Solution<Array> sol = jit([&](const Array& y0) {
    return diffeqsolve(ODETerm{field}, solver, 0., 4., 0.9, y0,
                       {.controller = controller, .saveat = {.steps = 1}, .max_steps = 500});
  })(array({0.3}));
  const Array ts = to_array(c["ts"]), ys = to_array(c["ys"]);
  ASSERT_EQ(sol.stats.num_accepted_steps.item<std::int64_t>(), ts.size());
  EXPECT_EQ(sol.stats.num_rejected_steps.item<std::int64_t>(), to_array(c["rejected"]).item<std::int64_t>());
  // Where steps fall depends on their errors, which are differences of nearly equal sums.
  EXPECT_LT(max(abs(sol.ts[range(0, ts.size())] - ts)).item<double>(), 1e-7);
  const Array off = sol.ys(range(0, ts.size()), 0) - ys;
  EXPECT_LT(max(abs(off)).item<double>(), 1e-7);
}

TEST(Clip, StepsAreDiffraxs) {
  int cases = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/clip.txt")) {
    SCOPED_TRACE(c.name);
    if (c.name.starts_with("tsit5")) check_case(c, Tsit5{});
    if (c.name.starts_with("bosh3")) check_case(c, Bosh3{});
    if (c.name.starts_with("dopri5")) check_case(c, Dopri5{});
    ++cases;
  }
  EXPECT_EQ(cases, 12);
}

double exact(double t) {
  const double up = t < 1 ? 0 : 1 - std::exp(-(std::min(t, 2.5) - 1));
  return 0.3 * std::exp(-t) + up * (t > 2.5 ? std::exp(-(t - 2.5)) : 1);
}

TEST(Clip, JumpsAreNotStumbledOver) {
  const auto solve = [](const auto& solver, const Controller& c) {
    return diffeqsolve(ODETerm{switched}, solver, 0., 4., {}, 0.3, {.controller = c});
  };
  const auto with = [&](const auto& solver) {
    return solve(solver, ClipStepSizeController{.controller = pid, .jump_ts = {1., 2.5}});
  };
  const auto explicit_ = with(Tsit5{}), stiff = with(Rodas5P{}), multistep = with(BackwardDifferences{});
  for (const auto* sol : {&explicit_, &stiff, &multistep})
    EXPECT_NEAR(sol->ys[-1].item<double>(), exact(4.), 2e-5);
  EXPECT_LT(explicit_.stats.num_rejected_steps.item<std::int64_t>(), 3);
  EXPECT_GT(solve(Tsit5{}, pid).stats.num_rejected_steps.item<std::int64_t>(), 5);
  // Back in time, too: the same times.
  const auto back =
      diffeqsolve(ODETerm{switched}, Tsit5{}, 4., 0., {}, exact(4.),
                  {.controller = ClipStepSizeController{.controller = pid, .jump_ts = {1., 2.5}}});
  EXPECT_NEAR(back.ys[-1].item<double>(), 0.3, 1e-4);
  EXPECT_LT(back.stats.num_rejected_steps.item<std::int64_t>(), 5);
}

TEST(Clip, DerivativesGoThroughJumpTimes) {
  // y' = 1 before the jump and 3 behind it: y(2) = 6 - 2 T.
  const auto end = [](const Array& jump) {
    const auto field = [&](const Array& t, const Array& y) { return where(t < jump, ones_like(y), 3.); };
    return diffeqsolve(
               ODETerm{field}, Tsit5{}, 0., 2., {}, 0.,
               {.controller = ClipStepSizeController{.controller = pid, .jump_ts = expand_dims(jump, 0)}})
        .ys[-1];
  };
  EXPECT_NEAR(jit(end)(0.7).item<double>(), 4.6, 1e-14);
  EXPECT_NEAR(jit(grad(end))(0.7).item<double>(), -2, 1e-14);
  EXPECT_NEAR(jvp(end, array(0.7), array(1.)).second.item<double>(), -2, 1e-14);
  const Array jumps = linspace(0.1, 1.9, 13), all = jit(vmap(end))(jumps);
  for (std::int64_t i = 0; i < 13; ++i) expect_same_bits(Array(all[i]), jit(end)(jumps[i]));
}

TEST(Clip, AroundOtherControllers) {
  const auto solve = [](const Controller& c, const Array& dt0) {
    return diffeqsolve(ODETerm{[](const Array& t, const Array&) { return cos(t); }}, Tsit5{}, 0., 1., dt0, 0.,
                       {.controller = c, .saveat = {.steps = 1}, .max_steps = 64});
  };
  const auto sol =
      solve(ClipStepSizeController{.controller = ConstantStepSize{}, .step_ts = {0.35, 2., -1.}}, 0.2);
  const double want[] = {0.2, 0.35, 0.55, 0.75, 0.95, 1.};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(sol.ts[i].item<double>(), want[i], 1e-15);
  // One in the other.
  const ClipStepSizeController inner{.controller = pid, .step_ts = {0.25}};
  const auto both = solve(ClipStepSizeController{.controller = inner, .step_ts = {0.75}}, {});
  for (double t : {0.25, 0.75}) EXPECT_EQ(min(abs(both.ts - t)).item<double>(), 0);
}

/// Each step is twice as long as the one before.
struct Doubling {
  Array first;
  FirstStep first_step(const ControllerStart& s) const { return {s.t0 + first, {first}}; }
  NextStep next_step(const ControllerStep& s) const {
    const Array h = 2. * s.state[0];
    return {Array(true), s.t1, s.t1 + h, {h}, Array(0)};
  }
};

TEST(Clip, AroundControllersOfOnesOwn) {
  const auto solve = [](const Controller& c) {
    return diffeqsolve(ODETerm{[](const Array& t, const Array&) { return cos(t); }}, Tsit5{}, 0., 2., {}, 0.,
                       {.controller = c, .saveat = {.steps = 1}, .max_steps = 16})
        .ts;
  };
  const Array own = solve(Doubling{0.25}), clipped = solve(ClipStepSizeController{Doubling{0.25}, {0.5}});
  const double want[] = {0.25, 0.75, 1.75, 2.}, and_half[] = {0.25, 0.5, 1.5, 2.};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(own[i].item<double>(), want[i]);
    EXPECT_EQ(clipped[i].item<double>(), and_half[i]);
  }
}

TEST(Clip, TooManyRejections) {
  // The first step is 1e6 times too long.
  const auto fast = [](const Array& t, const Array&) { return 1e5 * cos(1e5 * t); };
  const auto solve = [&](std::int64_t store) {
    return diffeqsolve(
        ODETerm{fast}, Tsit5{}, 0., 1e-4, 1e-4, 0.,
        {.controller = ClipStepSizeController{.controller = PIDController{.rtol = 1e-10, .atol = 1e-10},
                                              .store_rejected_steps = store},
         .throw_ = false});
  };
  EXPECT_EQ(solve(2).result.item<std::int64_t>(), static_cast<std::int64_t>(SolveResult::MaxStepsRejected));
  EXPECT_EQ(solve(50).result.item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace apsis::testing
