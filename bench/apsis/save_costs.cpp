// check/save-*: what saving costs in an adaptive solve, alone and in lanes, per attempted step.
#include <cstdio>
#include <string>
#include <vector>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

struct Lorenz {
  Array rho;

  Array operator()(const Array&, const Array& y) const {
    auto [u, v, w] = unstack<3>(y);
    return stack({10. * (v - u), u * (rho - w) - v, u * v - 8. / 3. * w});
  }
};

struct Saved {
  Array ys, steps;
};

/// One and a thousand Lorenz solves to t = 20 that save as `saveat` says. The ratio of the two is what lanes
/// gain.
void save_cost(const std::string& name, const SaveAt& saveat) {
  const double t1 = 20;
  auto solve = [&](const Array& rho) {
    auto solution = diffeqsolve(
        ODETerm{Lorenz{rho}}, Tsit5{}, 0., t1, 0.01, ones({3}),
        {.controller = PIDController{.rtol = 1e-8, .atol = 1e-8}, .saveat = saveat, .max_steps = 4096});
    return Saved{solution.ys, solution.stats.num_steps};
  };
  auto single = jit(solve);
  auto lanes = jit(vmap(solve));
  Array rho(28., f64), rhos = linspace(0.5, 40., 1000);
  Saved out;
  const auto each = [&](double spent) { return spent * 1e9 / sum(out.steps).item<double>(); };
  const double alone = each(median_seconds([&] { out = single(rho); }, 0.2));
  report("check/save-" + name + "-single", "ns/step", alone, {sum(out.steps).item<double>()});
  const double packed = each(median_seconds([&] { out = lanes(rhos); }, 0.5));
  report("check/save-" + name + "-lanes", "ns/lane-step", packed, {sum(out.steps).item<double>()});
}

}  // namespace

void save_costs() {
  save_cost("0", {});
  for (std::int64_t points : {10, 100, 1000})
    save_cost(std::to_string(points), {.ts = linspace(0., 20., points)});
  save_cost("steps", {.steps = 1});
}

}  // namespace bench
