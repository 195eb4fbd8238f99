// Pricing: Greeks as derivatives, trees, Monte Carlo with pathwise gradients, American options. Known
// answers are closed forms, written in plain C++; Heston's is of reference/options.py.

#include <algorithm>
#include <cmath>

#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

Array normal_cdf(const Array& x) { return 0.5 * erfc(-x / std::sqrt(2.)); }
double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.)); }
double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }

struct Market {
  Array spot, strike, rate, vol, expiry;
};
Array call_price(const Market& m) {
  Array sd = m.vol * sqrt(m.expiry);
  Array d1 = (log(m.spot / m.strike) + (m.rate + 0.5 * m.vol * m.vol) * m.expiry) / sd;
  return m.spot * normal_cdf(d1) - m.strike * exp(-m.rate * m.expiry) * normal_cdf(d1 - sd);
}
Market market_of(const Array& p) { return {p[0], p[1], p[2], p[3], p[4]}; }
const std::vector<double> usual = {100., 105., 0.03, 0.25, 0.75};

TEST(Options, GreeksAreDerivatives) {
  const double s = 100, k = 105, r = 0.03, v = 0.25, t = 0.75, sd = v * std::sqrt(t);
  const double d1 = (std::log(s / k) + (r + v * v / 2) * t) / sd, d2 = d1 - sd, e = std::exp(-r * t);
  Market m = market_of(array(usual));
  auto [price, greeks] = jit(value_and_grad(call_price))(m);
  EXPECT_NEAR(price.item<double>(), s * phi(d1) - k * e * phi(d2), 1e-12);
  EXPECT_NEAR(greeks.spot.item<double>(), phi(d1), 1e-13);
  EXPECT_NEAR(greeks.strike.item<double>(), -e * phi(d2), 1e-13);
  EXPECT_NEAR(greeks.rate.item<double>(), k * t * e * phi(d2), 1e-11);
  EXPECT_NEAR(greeks.vol.item<double>(), s * density(d1) * std::sqrt(t), 1e-11);
  EXPECT_NEAR(greeks.expiry.item<double>(), s * density(d1) * v / (2 * std::sqrt(t)) + r * k * e * phi(d2),
              1e-11);
  auto second = jit(hessian(call_price))(m);
  EXPECT_NEAR(second.block(&Market::spot, &Market::spot).item<double>(), density(d1) / (s * sd), 1e-14);
  EXPECT_NEAR(second.block(&Market::vol, &Market::spot).item<double>(), -density(d1) * d2 / v, 1e-12);
  expect_all_ways([](const Array& p) { return call_price(market_of(p)); }, array(usual),
                  {.single = 1e-5, .second = true});
}

TEST(Options, ImpliedVolatilityByBisection) {
  struct Bracket {
    Array low, high, steps;
  };
  auto implied = [](const Array& price, const Market& m) {
    auto halve = [&](const Bracket& b) {
      Array middle = 0.5 * (b.low + b.high);
      Array above = call_price({m.spot, m.strike, m.rate, middle, m.expiry}) > price;
      return Bracket{where(above, b.low, middle), where(above, middle, b.high), b.steps + 1};
    };
    // As exact as the option is worth: lanes end at different times.
    auto unsure = [&](const Bracket& b) { return b.high - b.low > 1e-4 * price / m.spot && b.steps < 60; };
    return while_loop(unsure, halve, Bracket{1e-4, 4., 0});
  };
  Array strikes = linspace(60., 160., 101), vols = 0.15 + 0.2 * square(log(strikes / 100.));
  auto at = [&](const Array& k, const Array& v) { return Market{100., k, 0.02, v, 0.5}; };
  Array prices =
      jit(vmap([&](const Array& k, const Array& v) { return call_price(at(k, v)); }))(strikes, vols);
  auto solve = [&](const Array& p, const Array& k) { return implied(p, at(k, 0.)); };
  auto [low, high, steps] = jit(vmap(solve))(prices, strikes);
  EXPECT_TRUE(all(low <= vols && vols <= high).item<bool>());
  EXPECT_GT(max(steps).item<int>(), min(steps).item<int>() + 3);
  for (int i : {0, 50, 100})
    EXPECT_EQ(jit(solve)(prices[i], strikes[i]).low.item<double>(), low[i].item<double>());
  // The derivative of what bisection finds is that of the equation: 1 / vega.
  auto smooth = [&](const Array& p, const Array& k) {
    auto equation = [&](const Array& v) { return call_price(at(k, v)) - p; };
    return custom_root(
        equation, Array(0.2),
        [](const auto& f, const Array& start) {
          return while_loop([&](const Array& v) { return abs(f(v)) > 1e-13; },
                            [&](const Array& v) { return v - f(v) / grad(f)(v); }, start, {.max_steps = 50});
        },
        [](const auto& slope, const Array& y) { return y / slope(ones_like(y)); });
  };
  const double vega = 100 *
                      density((std::log(100. / 110) + 0.01 + 0.5 * 0.3 * 0.3 * 0.5) / (0.3 * std::sqrt(.5))) *
                      std::sqrt(.5);
  Array price = call_price(at(110., 0.3));
  EXPECT_NEAR(jit(smooth)(price, 110.).item<double>(), 0.3, 1e-12);
  EXPECT_NEAR(jit(grad(smooth))(price, 110.).item<double>(), 1 / vega, 1e-12);
  expect_all_ways([&](const Array& p) { return smooth(p[0], p[1]); }, stack({price, 110.}), {.modes = 1e-8});
}

TEST(Options, BinomialTreeByScan) {
  const int n = 200;
  auto american_put = [&](const Array& p) {
    auto [spot, strike, rate, vol, expiry] = unstack<5>(p);
    Array dt = expiry / double(n), up = exp(vol * sqrt(dt)), q = (exp(rate * dt) - 1. / up) / (up - 1. / up);
    Array level = 2. * arange(n + 1.) - double(n);
    auto back = [&](const Array& i, const Array& value) {
      Array kept = exp(-rate * dt) * (q * value[range(1, {})] + (1. - q) * value[range({}, -1)]);
      Array now = spot * pow(up, level[range({}, -1)] + 1. + astype(i, f64));
      // Levels beyond the tree of this step are carried along and never read again by its root.
      return concatenate({maximum(kept, strike - now), value[range(-1, {})]});
    };
    return fori_loop(0, n, back, maximum(strike - spot * pow(up, level), 0.))[0];
  };
  // The same tree in plain C++.
  auto plain = [&](double s, double k, double r, double v, double t) {
    double dt = t / n, u = std::exp(v * std::sqrt(dt)), q = (std::exp(r * dt) - 1 / u) / (u - 1 / u);
    std::vector<double> value(n + 1);
    for (int j = 0; j <= n; ++j) value[j] = std::max(k - s * std::pow(u, 2 * j - n), 0.);
    for (int i = n - 1; i >= 0; --i)
      for (int j = 0; j <= i; ++j)
        value[j] = std::max(std::exp(-r * dt) * (q * value[j + 1] + (1 - q) * value[j]),
                            k - s * std::pow(u, 2 * j - i));
    return value[0];
  };
  Array at = array({36., 40., 0.06, 0.2, 1.});
  EXPECT_NEAR(jit(american_put)(at).item<double>(), plain(36, 40, 0.06, 0.2, 1), 1e-11);
  EXPECT_NEAR(jit(american_put)(at).item<double>(), 4.478, 0.015);  // Longstaff and Schwartz 2001, table 1
  const double h = 1e-5,
               delta = (plain(36 + h, 40, 0.06, 0.2, 1) - plain(36 - h, 40, 0.06, 0.2, 1)) / (2 * h);
  EXPECT_NEAR(jit(grad(american_put))(at)[0].item<double>(), delta, 1e-6);
  expect_all_ways(american_put, at);
}

TEST(Options, AmericanPutByRegression) {
  // Longstaff and Schwartz, Valuing American options by simulation, 2001: table 1, first row (4.478 by finite
  // differences, 4.472 with a standard error of 0.010 by their simulation).
  const int paths = 20000, dates = 50;
  auto price = [&](const Array& key, const Array& spot) {
    const double strike = 40, rate = 0.06, vol = 0.2, dt = 1. / dates;
    Array z = random::normal(key, {dates, paths / 2});
    z = concatenate({z, -z}, 1);
    Array path = spot * exp(cumsum((rate - vol * vol / 2) * dt + vol * std::sqrt(dt) * z, {.axis = 0}));
    const double discount = std::exp(-rate * dt);
    auto back = [&](const Array& cash, const Array& s) {
      Array held = discount * cash, exercise = maximum(strike - s, 0.), in = astype(exercise > 0., f64);
      Array x = s / strike, basis = stack({ones_like(x), x, x * x, x * x * x}) * in;
      Array a = matmul(basis, transpose(basis)) + 1e-9 * eye(4), b = matmul(basis, held);
      for (int k = 0; k < 4; ++k) {  // elimination, unrolled
        Array factor = where(arange(4) == k, 0., a(range(), k) / a(k, k));
        b = b - factor * b[k];
        a = a - outer(factor, a[k]);
      }
      Array expected = matmul(b / diag(a), basis);
      return std::pair{where(exercise > maximum(expected, 0.) && in > 0., exercise, held), Nothing{}};
    };
    Array last = maximum(strike - path[dates - 1], 0.);
    return discount * mean(scan(back, last, path[range({}, -1)], {.reverse = true}).first);
  };
  Array got = jit(price)(random::key(0), 36.);
  EXPECT_NEAR(got.item<double>(), 4.472, 0.05);  // five of their standard errors
  Array slope = jit(grad<1>(price))(random::key(0), 36.);
  EXPECT_NEAR(slope.item<double>(), -0.7, 0.05);  // Fu et al. 2000 and the tree above give -0.70
}

TEST(Options, AsianOptionWithPathwiseGreeks) {
  // Geometric average, which has a closed form (Kemna and Vorst 1990) at n dates.
  const int n = 12;
  auto exact = [&](double s, double v) {
    const double k = 100, r = 0.05, t = 1;
    const double sd = v * std::sqrt(t * (n + 1) * (2 * n + 1) / 6.) / n,
                 mu = (r - v * v / 2) * t * (n + 1) / (2. * n);
    const double d1 = (std::log(s / k) + mu + sd * sd) / sd;
    return std::exp(-r * t) * (s * std::exp(mu + sd * sd / 2) * phi(d1) - k * phi(d1 - sd));
  };
  auto one_path = [&](const Array& key, const Array& p) {
    auto [spot, vol] = unstack<2>(p);
    const double dt = 1. / n;
    auto step = [&](const Array& x, const Array& z) {
      Array next = x + (0.05 - 0.5 * vol * vol) * dt + vol * std::sqrt(dt) * z;
      return std::pair{next, next};
    };
    Array logs = scan(step, log(spot), random::normal(key, {n})).second;
    return std::exp(-0.05) * maximum(exp(mean(logs)) - 100., 0.);
  };
  auto price = [&](const Array& p) {
    Array keys = random::split(random::key(3), 20000);
    return mean(vmap(one_path, {.in_axes = {0, {}}})(keys, p));
  };
  Array at = array({102., 0.3});
  auto [value, greeks] = jit(value_and_grad(price))(at);
  const double h = 1e-4;
  // Standard errors with 20,000 paths: 0.09, 0.005 and 0.4; three of them.
  EXPECT_NEAR(value.item<double>(), exact(102, 0.3), 0.27);
  EXPECT_NEAR(greeks[0].item<double>(), (exact(102 + h, 0.3) - exact(102 - h, 0.3)) / (2 * h), 0.015);
  EXPECT_NEAR(greeks[1].item<double>(), (exact(102, 0.3 + h) - exact(102, 0.3 - h)) / (2 * h), 1.2);
  auto few = [&](const Array& p) {
    return vmap(one_path, {.in_axes = {0, {}}})(random::split(random::key(3), 7), p);
  };
  expect_all_ways(few, at);
}

TEST(Options, HestonByEuler) {
  auto paths = [&](const Array& spot, int count, int steps) {
    const double dt = 0.5 / steps, kappa = 2, theta = 0.05, xi = 0.3, rho = -0.6, r = 0.03;
    auto path = [&](const Array& key) {
      auto step = [&](const std::pair<Array, Array>& s, const Array& i) {
        const auto& [x, v] = s;
        Array z = random::normal(random::fold_in(key, i), {2});
        Array positive = maximum(v, 0.), root = sqrt(positive * dt);  // full truncation
        Array w = rho * z[0] + std::sqrt(1 - rho * rho) * z[1];
        return std::pair{std::pair{x + (r - 0.5 * positive) * dt + root * z[0],
                                   v + kappa * (theta - positive) * dt + xi * root * w},
                         Nothing{}};
      };
      auto [x, v] = scan(step, std::pair{log(spot), Array(0.04)}, arange(steps)).first;
      return std::exp(-r * 0.5) * maximum(exp(x) - 105., 0.);
    };
    return vmap(path)(random::split(random::key(11), count));
  };
  auto price = [&](const Array& spot) { return mean(paths(spot, 20000, 50)); };
  auto [value, delta] = jit(value_and_grad(price))(100.);
  // Three standard errors (0.06 and 0.004), and the bias of 50 steps.
  EXPECT_NEAR(value.item<double>(), 4.112487316073107, 0.2);
  EXPECT_NEAR(delta.item<double>(), 0.47420034615441864, 0.015);
  expect_all_ways([&](const Array& s) { return paths(s[0], 5, 10); }, array({100.}));
}

TEST(Options, Misuses) {
  Market m = market_of(array(usual));
  expect_misuse("[vmap] argument 0.strike has 2 lanes, but argument 0.spot has 3", [&] {
    vmap(call_price)(
        Market{array({1., 2., 3.}), array({1., 2.}), array({0., 0.}), array({1., 1.}), array({1., 1.})});
  });
  expect_misuse("must return one real scalar, got f64[2]", [&] {
    grad(call_price)(Market{array({100., 101.}), 105., 0.03, 0.25, 0.75});
  });
  expect_misuse("kind Lax", [&] {
    auto newton = [](const Array& p) {
      return while_loop([&](const Array& v) { return abs(v * v - p) > 1e-9; },
                        [&](const Array& v) { return 0.5 * (v + p / v); }, 1., {.kind = Loop::Lax});
    };
    grad(newton)(2.);
  });
  expect_misuse("after max_steps = 50 iterations", [&] {
    while_loop([](const Array& v) { return v * v > -1.; }, [](const Array& v) { return v / 2.; }, 1.,
               {.max_steps = 50});
  });
  expect_misuse("axis 3 is out of range for argument 0", [&] {
    vmap([](const Array& k) { return k * 2.; }, {.in_axes = {3}})(array({1., 2.}));
  });
  expect_misuse("in_axes has 1 entries for 2 arguments", [&] {
    vmap([](const Array& k, const Array& v) { return k * v; }, {.in_axes = {0}})(array({1., 2.}), 3.);
  });
  expect_misuse("fori_loop] the bounds must be integer scalars", [&] {
    fori_loop(
        0, m.expiry / 0.01, [](const Array&, const Array& x) { return x; }, m.spot);
  });
}

}  // namespace
}  // namespace apsis::scenarios
