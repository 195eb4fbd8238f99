// Equations whose laws are known, as one would write them: interest rates by adaptive steps, correlated
// motions, populations whose parameters are found from their moments.

#include <cmath>

#include <apsis/apsis.hpp>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// Five standard errors of the mean of n numbers.
double near(double variance, std::int64_t n) { return 5 * std::sqrt(variance / static_cast<double>(n)); }

// dx = κ (θ - x) dt + σ √x dW (Cox, Ingersoll, Ross 1985): steps follow the path, and are tried again.
TEST(KnownLaws, RatesByAdaptiveSteps) {
  constexpr std::int64_t n = 4000;
  constexpr double kappa = 1.5, theta = 0.5, sigma = 0.3, x0 = 0.3, end = 2.;
  const auto solve = [&](const auto& solver, bool stratonovich) {
    return jit(vmap([&](const Array& key) {
      const VirtualBrownianTree path(0., end, 1e-4, Shape{}, key, {.levy_area = LevyArea::SpaceTime});
      const auto drift = [&](const Array&, const Array& x) {
        return kappa * (theta - x) - (stratonovich ? sigma * sigma / 4 : 0.);
      };
      const auto diffusion = [&](const Array&, const Array& x) { return sigma * sqrt(maximum(x, 1e-8)); };
      const auto calculus = stratonovich ? Calculus::Stratonovich : Calculus::Ito;
      return diffeqsolve(
                 MultiTerm{ODETerm{drift}, ControlTerm{diffusion, path, calculus}}, solver, 0., end, 0.05, x0,
                 {.controller = PIDController{.rtol = 1e-3, .atol = 1e-3, .dtmin = 1e-4}, .max_steps = -1})
          .ys[-1];
    }))(random::split(random::key(3), n));
  };
  const double e = std::exp(-kappa * end), mean_ = theta + (x0 - theta) * e,
               variance = x0 * sigma * sigma / kappa * (e - e * e) +
                          theta * sigma * sigma / (2 * kappa) * (1 - e) * (1 - e);
  const auto expect_law = [&](const Array& x) {
    EXPECT_NEAR(mean(x).item<double>(), mean_, near(variance, n));
    // The kurtosis of this law is below 4.
    EXPECT_NEAR(var(x).item<double>(), variance, near(3 * variance * variance, n));
  };
  expect_law(solve(HalfSolver{ItoMilstein{}}, false));
  expect_law(solve(SPaRK{}, true));
}

// Shares whose motions have a correlation: a factor of it makes them of independent ones.
TEST(KnownLaws, CorrelationByAFactor) {
  constexpr std::int64_t n = 20'000;
  const Array volatility = array({0.2, 0.3, 0.25}),
              correlation = array({{1., 0.6, 0.3}, {0.6, 1., 0.4}, {0.3, 0.4, 1.}}),
              factor = linalg::cholesky(correlation);
  const auto logs = [&](const Array& key) {
    const VirtualBrownianTree path(0., 1., 0.02, {3}, key);
    const auto drift = [](const Array&, const Array& y) { return 0.02 * y; };
    const auto diffusion = [&](const Array&, const Array& y) {
      return expand_dims(volatility * y, 1) * factor;
    };
    return log(diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{diffusion, path, Calculus::Ito}},
                           ItoMilstein{}, 0., 1., 0.05, ones({3}))
                   .ys[-1]);
  };
  const auto found = stats::running_covariance(3).add_rows(jit(vmap(logs))(random::split(random::key(9), n)));
  const Array exact = correlation * volatility * expand_dims(volatility, 1),
              means = 0.02 - 0.5 * volatility * volatility;
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(found.mean[i].item<double>(), means[i].item<double>(), near(0.09, n));
    // Steps of Milstein's method are off by some per cent of the length of a step.
    for (int j = 0; j < 3; ++j)
      EXPECT_NEAR(found.covariance()(i, j).item<double>(), exact(i, j).item<double>(),
                  near(2 * 0.09 * 0.09, n) + 0.01 * 0.09);
  }
}

struct Prey {
  Array hunted, hunters;
};
struct Rates {
  Array birth, loss, gain, death, noise;
};
// Parameters are found again from means and deviations of an ensemble, by the gradient along its paths.
TEST(KnownLaws, PopulationsAreFitted) {
  const auto simulate = [](const Rates& r, const Array& key) {
    const Prey y0{array(1.), array(0.5)};
    const VirtualBrownianTree path(0., 4., 0.1, y0, key, {.levy_area = LevyArea::SpaceTime});
    const auto drift = [&](const Array&, const Prey& y) {
      return Prey{y.hunted * (r.birth - r.loss * y.hunters), y.hunters * (r.gain * y.hunted - r.death)};
    };
    const auto diffusion = [&](const Array&, const Prey& y) {
      return Diagonal{Prey{r.noise * y.hunted, r.noise * y.hunters}};
    };
    return diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{diffusion, path}}, SlowRK{}, 0., 4., 0.1, y0,
                       {.saveat = {.ts = linspace(0.5, 4., 8)}})
        .ys;
  };
  const auto moments = [&](const Rates& r, const Array& keys) {
    const Prey y = vmap([&](const Array& key) { return simulate(r, key); })(keys);
    return concatenate({mean(y.hunted, {.axis = 0}), mean(y.hunters, {.axis = 0}),
                        std_(y.hunted, {.axis = 0}), std_(y.hunters, {.axis = 0})});
  };
  const Rates truth{1.1, 0.8, 0.6, 0.7, 0.15};
  const Array keys = random::split(random::key(1), 64), data = jit(moments)(truth, keys);
  const auto loss = [&](const Rates& logs) {
    const Rates r = tree_map([](const Array& x) { return exp(x); }, logs);
    return sum(square(moments(r, keys) - data));
  };
  const optim::Adam adam{.learning_rate = 0.03};
  const auto step = jit([&](const Rates& logs, const optim::AdamState<Rates>& state) {
    const auto [value, gradient] = value_and_grad(loss)(logs);
    const auto [change, next] = adam.update(gradient, state, logs);
    return std::tuple{apply_updates(logs, change), next, value};
  });
  Rates logs = tree_map([](const Array& x) { return log(x); }, Rates{0.9, 1., 0.8, 0.5, 0.3});
  auto state = adam.init(logs);
  Array value;
  for (int i = 0; i < 400; ++i) std::tie(logs, state, value) = step(logs, state);
  EXPECT_LT(value.item<double>(), 1e-4);
  const auto leaves = leaves_of(logs), exact = leaves_of(truth);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    EXPECT_NEAR(std::exp(leaves[i].item<double>()), exact[i].item<double>(), 0.02) << i;
}

}  // namespace
}  // namespace apsis::testing
