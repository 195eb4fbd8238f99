// Options of a solve that do not change what it means: how its gradient keeps states, and what ends it.

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Lorenz {
  Array sigma, rho, beta;
  Array operator()(const Array&, const Array& y) const {
    auto [a, b, c] = unstack<3>(y);
    return stack({sigma * (b - a), a * (rho - c) - b, a * b - beta * c});
  }
};
const Lorenz lorenz{array(10.), array(28.), array(8. / 3.)};
const Array start = array({1., 0.5, -0.3});
const PIDController adaptive{.rtol = 1e-6, .atol = 1e-9};

/// A loss that reads saved states in the middle, or the last one only.
auto loss_of(const SolveOptions& options, bool constant, double t1 = 1.) {
  return [=](const Lorenz& model, const Array& y0) {
    SolveOptions all = options;
    if (!constant) all.controller = adaptive;
    auto sol = diffeqsolve(ODETerm{model}, Tsit5{}, 0., t1, constant ? Array(0.01) : Array(), y0, all);
    return sum(sol.ys * cos(sol.ys)) / static_cast<double>(sol.ys.size());
  };
}

TEST(SolveOptions, CheckpointsGiveTheGradientOfTheTape) {
  for (bool constant : {true, false})
    for (bool save : {false, true}) {
      SCOPED_TRACE(std::string(constant ? "constant" : "adaptive") + (save ? ", saving" : ""));
      SaveAt saveat;
      if (save) saveat.ts = linspace(0.1, 1., 7);
      auto gradient = [&](const SolveOptions& o) {
        return jit(grad<0, 1>(loss_of(o, constant)))(lorenz, start);
      };
      auto want = gradient({.saveat = saveat});
      for (std::int64_t n : {2, 5, 30, 1000})
        expect_near(gradient({.saveat = saveat, .checkpoints = n}), want, 1e-12);
      for (std::int64_t bytes : {200, 5000})
        expect_near(gradient({.saveat = saveat, .checkpoint_bytes = bytes}), want, 1e-12);
    }
}

TEST(SolveOptions, CheckpointsInLanes) {
  Array y0 = start + 0.01 * reshape(cos(arange(60.)), {20, 3});
  for (bool constant : {true, false}) {
    auto gradient = [&](const SolveOptions& o) { return grad<1>(loss_of(o, constant, 0.4)); };
    auto f = gradient({.checkpoints = 6});
    Array all = jit(vmap(f, {.in_axes = {{}, 0}}))(lorenz, y0);
    auto single = jit(f);
    for (std::int64_t i : {0, 7, 19}) expect_same_bits(Array(all[i]), single(lorenz, y0[i]));
    expect_near(all, jit(vmap(gradient({}), {.in_axes = {{}, 0}}))(lorenz, y0), 1e-12);
  }
}

TEST(SolveOptions, MaxStepsIsAResultLikeThatOfALoop) {
  auto solve = [](const Array& t1, bool throws) {
    return diffeqsolve(ODETerm{lorenz}, Tsit5{}, 0., t1, 0.01, start, {.max_steps = 50, .throw_ = throws});
  };
  auto whole = jit([=](const Array& t1) { return solve(t1, false); });
  for (auto [t1, code, steps] : {std::tuple{0.3, 0, 30}, {0.5, 0, 50}, {0.51, 1, 50}, {9., 1, 50}}) {
    auto sol = whole(array(t1));
    EXPECT_EQ(sol.result.item<std::int64_t>(), code);
    EXPECT_EQ(sol.stats.num_steps.item<std::int64_t>(), steps);
  }
  EXPECT_EQ(static_cast<int>(SolveResult::MaxStepsReached), static_cast<int>(LoopResult::MaxStepsReached));
  EXPECT_THROW(solve(9., true), Error);
  EXPECT_THROW(jit(grad([=](const Array& t1) { return sum(solve(t1, true).ys); }))(array(9.)), Error);
  // Under vmap each lane has its own result; none that failed is lost among those that did not.
  auto lanes = jit(vmap([=](const Array& t1) { return solve(t1, false).result; }));
  EXPECT_EQ(to_string(lanes(array({0.3, 9., 0.51, 0.1}))), "[0 1 1 0]");
  auto throwing = jit(vmap([=](const Array& t1) { return solve(t1, true).ys; }));
  try {
    throwing(array({0.3, 9., 0.51, 0.1}));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.id(), "max_steps_reached");
  }
}

}  // namespace
}  // namespace apsis::testing
