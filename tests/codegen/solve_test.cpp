// Whole solves of differential equations, compiled at every width and level, against the evaluator: the same
// bits. And an ensemble in packets of lanes that are refilled: each member is, bit for bit, the solve it
// would be alone.

#include <algorithm>
#include <numeric>

#include "codegen/staged_compiled_equal.hpp"
#include "codegen/support/lanes.hpp"

namespace apsis::testing {
namespace {

struct Lorenz {
  Array sigma, rho, beta;
  Array operator()(const Array&, const Array& y) const {
    auto [u, v, w] = unstack<3>(y);
    return stack({sigma * (v - u), u * (rho - w) - v, u * v - beta * w});
  }
};

struct End {
  Array y, steps, accepted;
};

End solve(const Array& rho) {
  auto s = diffeqsolve(ODETerm{Lorenz{10., rho, 8. / 3.}}, Tsit5{}, 0., 1.5, 0.01, ones({3}),
                       {.controller = PIDController{.rtol = 1e-8, .atol = 1e-8}});
  return {s.ys[0], s.stats.num_steps, s.stats.num_accepted_steps};
}

Array rhos(std::int64_t lanes) { return linspace(0.5, 40., lanes); }

TEST(Solve, MembersOfARefilledEnsembleAreTheSolvesAlone) {
  const std::int64_t lanes = 100;
  const Array rho = rhos(lanes);
  detail::LaneCounts& counts = detail::lane_counts();
  const std::int64_t packet_steps = counts.packet_steps, refills = counts.refills;
  const End together = jit(vmap(solve))(rho);
  const auto steps = together.steps.to_vector<std::int64_t>();
  const std::int64_t total = std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
  EXPECT_GT(*std::ranges::max_element(steps), *std::ranges::min_element(steps));
  // Several lanes a step: were each alone, there would be as many trips as steps.
  EXPECT_LT(counts.packet_steps - packet_steps, total / 2);
  EXPECT_GT(counts.refills - refills, 0);

  auto alone = jit(solve);
  for (std::int64_t i = 0; i < lanes; ++i) {
    SCOPED_TRACE(i);
    const End one = alone(rho[i]);
    expect_same_bits(End{together.y[i], together.steps[i], together.accepted[i]}, one);
  }
}

TEST(Solve, EnsembleEqualsTheSolvesAloneAtEveryWidth) {
  const Array rho = rhos(48);
  const StagedCall call = staged_call(vmap(solve), rho);
  const End first = jit(solve)(rho[0]);
  const End last = jit(solve)(rho[-1]);
  for (int width : {1, 2, 4, 8}) {
    SCOPED_TRACE(width);
    const std::int64_t refills = detail::lane_counts().refills;
    const auto got = detail::run(*detail::compile(*call.graph, {.lanes = width}), call.inputs);
    EXPECT_EQ(detail::lane_counts().refills > refills, width > 1);
    expect_same_bits(End{got[0][0], got[1][0], got[2][0]}, first);
    expect_same_bits(End{got[0][-1], got[1][-1], got[2][-1]}, last);
  }
}

TEST(Solve, CompiledEqualsTheEvaluator) {
  expect_graph_compiled_equal(solve, Array(28.));
  expect_graph_compiled_equal(vmap(solve), rhos(9));
}

// Dense output at save times, steps kept, backwards, other solvers.
TEST(Solve, OptionsCompiledEqualTheEvaluator) {
  auto kept = [](const Array& rho, const Array& ts) {
    auto s = diffeqsolve(ODETerm{Lorenz{10., rho, 8. / 3.}}, Dopri5{}, ts[0], ts[-1], {}, ones({3}),
                         {.controller = PIDController{.rtol = 1e-6, .atol = 1e-6},
                          .saveat = {.t0 = true, .ts = ts, .steps = 2},
                          .max_steps = 200});
    return std::tuple{s.ts, s.ys, s.stats, s.result};
  };
  expect_graph_compiled_equal(kept, Array(28.), array({0., 0.05, 0.3, 0.31, 0.5}));
  expect_graph_compiled_equal(kept, Array(28.), array({0.3, 0.29, 0.1, 0.}));
  auto constant = [](const Array& rho) {
    return diffeqsolve(ODETerm{Lorenz{10., rho, 8. / 3.}}, Heun{}, 0., 0.5, 0.02, ones({3})).ys;
  };
  expect_graph_compiled_equal(constant, Array(28.));
}

TEST(Solve, GradientsCompiledEqualTheEvaluator) {
  auto loss = [](const Array& rho) {
    auto s = diffeqsolve(ODETerm{Lorenz{10., rho, 8. / 3.}}, Tsit5{}, 0., 0.3, 0.01, ones({3}),
                         {.controller = PIDController{.rtol = 1e-6, .atol = 1e-6}});
    return sum(s.ys);
  };
  expect_graph_compiled_equal(value_and_grad(loss), Array(28.));
  expect_graph_compiled_equal([&](const Array& r) { return jvp(loss, r, Array(1.)); }, Array(28.));
  expect_graph_compiled_equal(vmap(value_and_grad(loss)), rhos(6));
}

}  // namespace
}  // namespace apsis::testing
