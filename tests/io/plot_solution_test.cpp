// Pictures of solutions: what is in them.

#include <gtest/gtest.h>

#include <cmath>

#include <apsis/apsis.hpp>

#include "io/folder.hpp"

namespace {

using namespace apsis;
using apsis::testing::bytes_of;
using apsis::testing::Files;

struct State {
  Array angle, speeds;
};

TEST(PlotSolution, ALineForEachElement) {
  const auto field = [](const Array&, const State& y) { return State{y.speeds[0], -0.1 * y.speeds}; };
  const auto sol = diffeqsolve(ODETerm{field}, Tsit5{}, 0., 2., {}, State{0., array({1., 2.})},
                               {.controller = PIDController{.rtol = 1e-6, .atol = 1e-9},
                                .saveat = {.ts = linspace(0., 2., 21), .dense = true},
                                .max_steps = 64});
  const Figure states = solution_figure(sol);
  ASSERT_EQ(states.series.size(), 3u);
  EXPECT_EQ(states.series[0].label, "angle");
  EXPECT_EQ(states.series[2].label, "speeds[1]");
  EXPECT_EQ(states.series[2].x.size(), 21u);
  EXPECT_NEAR(states.series[2].y[20], 2 * std::exp(-0.2), 1e-6);

  const Figure steps = step_figure(sol);
  ASSERT_EQ(steps.series.size(), 1u);
  const std::size_t count = static_cast<std::size_t>(sol.stats.num_accepted_steps.item<std::int64_t>());
  ASSERT_EQ(steps.series[0].x.size(), count);
  double all = 0;
  for (double h : steps.series[0].y) all += h;
  EXPECT_NEAR(all, 2, 1e-12);
  Files files;
  states.save(files / "states.svg");
  steps.save(files / "steps.svg");
  EXPECT_NE(bytes_of(files / "states.svg").find("speeds[1]"), std::string::npos);
}

TEST(PlotSolution, LongStatesAreMapsAndRowsNotUsedAreGaps) {
  const auto sol = diffeqsolve(ODETerm{[](const Array&, const Array& y) { return -y; }}, Tsit5{}, 1., 0.,
                               -0.25, arange(40.), {.saveat = {.ts = linspace(1., 0., 5)}});
  const Figure map = solution_figure(sol);
  ASSERT_EQ(map.series.size(), 1u);
  EXPECT_EQ(map.series[0].kind, Series::Kind::Map);
  const auto steps = diffeqsolve(ODETerm{[](const Array&, const Array& y) { return -y; }}, Tsit5{}, 0., 1.,
                                 0.25, array(1.), {.saveat = {.steps = 1}, .max_steps = 16});
  Files files;
  solution_figure(steps).save(files / "gaps.svg");  // twelve rows of +inf
  EXPECT_FALSE(bytes_of(files / "gaps.svg").empty());
}

}  // namespace
