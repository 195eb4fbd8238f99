// sde/*: ensembles of stochastic equations, along virtual trees, by increments that are drawn once, and
// beside a scan written by hand; derivatives of an option's value.
#include <cmath>

#include "bench.hpp"

namespace bench {

using namespace apsis;

namespace {

constexpr std::int64_t paths = 1000, steps = 1000;
constexpr double rate = 0.05, volatility = 0.2;

/// Geometric Brownian motion by Euler's method; `path(key)` makes the path.
template <class Path>
auto growth(const Path& path) {
  return jit([path](const Array& keys) {
    const auto one = [path](const Array& key) {
      const auto drift = [](const Array&, const Array& y) { return rate * y; };
      const auto diffusion = [](const Array&, const Array& y) { return volatility * y; };
      const MultiTerm term{ODETerm{drift}, ControlTerm{diffusion, path(key)}};
      return diffeqsolve(term, EulerMaruyama{}, 0., 1., 1. / steps, 1.).ys[-1];
    };
    return vmap(one)(keys);
  });
}
template <class Run>
void report_growth(const char* name, const Run& run) {
  const Array keys = random::split(random::key(0), paths);
  Array end;
  const double spent = median_seconds([&] { end = run(keys); });
  report(name, "ns/path-step", spent * 1e9 / (paths * steps), {mean(end).template item<double>()});
}

void heston_greeks() {
  constexpr std::int64_t many = 65'536, few = 250;
  constexpr double pull = 1.5, level = 0.04, width = 0.3, correlation = -0.6, interest = 0.03, strike = 100.;
  const double other = std::sqrt(1 - correlation * correlation);
  const auto payoff = [=](const Array& market, const Array& key) {
    const auto drift = [=](const Array&, const Array& y) {
      const Array v = maximum(y[1], 0.);
      return stack({interest - 0.5 * v, pull * (level - v)});
    };
    const auto diffusion = [=](const Array&, const Array& y) {
      const Array d = sqrt(maximum(y[1], 1e-12));
      return stack({stack({d, 0. * d}), width * stack({correlation * d, other * d})});
    };
    const MultiTerm term{ODETerm{drift}, ControlTerm{diffusion, UnsafeBrownianPath({2}, key)}};
    const Array end =
        diffeqsolve(term, EulerMaruyama{}, 0., 1., 1. / few, stack({log(market[0]), market[1]})).ys[-1];
    return std::exp(-interest) * maximum(exp(end[0]) - strike, 0.);
  };
  const auto run = jit([=](const Array& market, const Array& keys) {
    const auto one = [=](const Array& key) {
      return value_and_grad([=](const Array& m) { return payoff(m, key); })(market);
    };
    const auto [values, slopes] = vmap(one)(keys);
    return std::pair(mean(values), mean(slopes, {.axis = 0}));
  });
  const Array keys = random::split(random::key(0), many), market = array({100., 0.04});
  std::pair<Array, Array> found;
  const double spent = median_seconds([&] { found = run(market, keys); });
  report("sde/heston-greeks", "ns/path-step", spent * 1e9 / (many * few),
         {found.first.item<double>(), found.second[0].item<double>(), found.second[1].item<double>()});
}

}  // namespace

void noise() {
  report_growth("sde/gbm-tree", growth([](const Array& key) {
                  return VirtualBrownianTree(0., 1., 0.5 / steps, Shape{}, key);
                }));
  const auto unsafe = growth([](const Array& key) { return UnsafeBrownianPath({}, key); });
  report_growth("sde/gbm-unsafe", unsafe);
  report_growth("sde/gbm-scan", unsafe);
  heston_greeks();
}

}  // namespace bench
