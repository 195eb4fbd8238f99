// lorenz/*: adaptive Tsit5 on the Lorenz system: one solve, ensembles, gradients, first calls.
#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

struct Lorenz {
  Array sigma, rho, beta;

  Array operator()(const Array&, const Array& y) const {
    auto [u, v, w] = unstack<3>(y);
    return stack({sigma * (v - u), u * (rho - w) - v, u * v - beta * w});
  }
};

struct End {
  Array y, steps;
};

const std::int64_t members = 1000;
const std::size_t probed[] = {0, 100, 250, 400};  // below the chaotic range

End solve(const Lorenz& model, const Array& t1, std::int64_t max_steps = 4096) {
  auto solution =
      diffeqsolve(ODETerm{model}, Tsit5{}, 0., t1, 0.01, ones({3}),
                  {.controller = PIDController{.rtol = 1e-8, .atol = 1e-8}, .max_steps = max_steps});
  return {solution.ys[0], solution.stats.num_steps};
}

End solve_rho(const Array& rho, const Array& t1) { return solve({10., rho, 8. / 3.}, t1); }

Array sum_at_5(const Array& rho) { return sum(solve_rho(rho, 5.).y); }

Array scalar(double v) { return Array(v, f64); }

Array rhos() { return linspace(0.5, 40., members); }

double total(const Array& steps) { return sum(steps).item<double>(); }

}  // namespace

void lorenz() {
  auto run = jit(solve_rho);
  Array rho = scalar(28), t1 = scalar(20), g;
  End end;
  double spent = median_seconds([&] { end = run(rho, t1); });
  report("lorenz/step", "ns/step", spent * 1e9 / end.steps.item<double>(), end.y.to_vector<double>());

  auto gradient = jit(grad(sum_at_5));
  spent = median_seconds([&] { g = gradient(rho); });
  report("lorenz/grad", "us", spent * 1e6, {g.item<double>()});
}

void lorenz_first() {
  warm_compiler();
  Array rho = scalar(28), t1 = scalar(20);
  End end;
  double spent = seconds([&] { end = jit(solve_rho)(rho, t1); });
  report("lorenz/first-call", "ms", spent * 1e3, end.y.to_vector<double>());
}

void lorenz_grad_first() {
  warm_compiler();
  Array rho = scalar(28), g;
  double spent = seconds([&] { g = jit(grad(sum_at_5))(rho); });
  report("lorenz/grad-first-call", "ms", spent * 1e3, {g.item<double>()});
}

void ensemble() {
  auto run = jit(vmap(solve_rho, {.in_axes = {0, {}}}));
  Array rho = rhos(), t1 = scalar(20);
  End ends;
  double spent = median_seconds([&] { ends = run(rho, t1); });
  double steps = total(ends.steps);
  std::vector<double> answer{steps}, ys = ends.y.to_vector<double>();
  for (std::size_t i : probed)
    answer.insert(answer.end(), ys.begin() + 3 * static_cast<std::ptrdiff_t>(i),
                  ys.begin() + 3 * static_cast<std::ptrdiff_t>(i) + 3);
  for (const char* name : {"lorenz/ensemble", "lorenz/ensemble-tuned"})
    report(name, "ns/lane-step", spent * 1e9 / steps, answer);
}

void straggler() {
  auto run = jit(vmap([](const Array& t1) { return solve({10., 10., 8. / 3.}, t1, 100'000); }));
  std::vector<double> times(256, 1.);
  times.back() = 100;
  Array t1 = array(times);
  End ends;
  double spent = median_seconds([&] { ends = run(t1); });
  std::vector<double> ys = ends.y.to_vector<double>(), answer(ys.begin(), ys.begin() + 3);
  answer.insert(answer.end(), ys.end() - 3, ys.end());
  report("lorenz/ensemble-straggler", "us", spent * 1e6, answer);
}

void ensemble_grad() {
  struct Shared {
    Array sigma, beta;
  };
  auto loss = [](const Shared& shared, const Array& rho) {
    auto member = [&](const Array& r) { return sum(solve({shared.sigma, r, shared.beta}, 5.).y); };
    return mean(vmap(member)(rho));
  };
  Shared shared{scalar(10), scalar(8. / 3.)};
  Array rho = rhos();
  auto forward = jit(loss);
  double bound = median_seconds([&] { forward(shared, rho); });
  auto both = jit(value_and_grad(loss));
  std::pair<Array, Shared> out;
  double spent = median_seconds([&] { out = both(shared, rho); });
  report("lorenz/ensemble-grad", "ms", spent * 1e3,
         {out.first.item<double>(), out.second.sigma.item<double>(), out.second.beta.item<double>()},
         bound * 1e3);
}

}  // namespace bench
