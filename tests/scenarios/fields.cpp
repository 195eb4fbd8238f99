// Partial differential equations by the method of lines, lattices and walks. Known answers are closed forms
// and sums over all states.

#include <cmath>

#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

TEST(Fields, HeatConductionByLines) {
  // u_t = u_xx on [0, 1], ends at 0: the k-th sine of the grid decays at its own eigenvalue.
  const int n = 40;
  const double h = 1. / n, lambda = 4 / (h * h) * std::pow(std::sin(M_PI * 3 * h / 2), 2);
  auto field = [&](const Array&, const Array& u) {
    Array wide = pad(u, {1}, {1});
    return (wide[range(2, {})] - 2. * u + wide[range({}, -2)]) / (h * h);
  };
  auto solve = [&](const Array& u0) {
    return diffeqsolve(ODETerm{field}, Dopri5{}, 0., 0.02, {}, u0,
                       {.controller = PIDController{.rtol = 1e-9, .atol = 1e-11}})
        .ys[-1];
  };
  Array u0 = sin(3 * M_PI * h * arange(1., n + 0.));
  expect_close(jit(solve)(u0) / u0, full({n - 1}, std::exp(-0.02 * lambda)), 1e-7);
  // It is linear: the Jacobian is the solution of each unit vector, for the steps of that solve.
  auto steady = [&](const Array& p) {
    Array start = u0 * p[0] + p[1];
    return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 0.02, 5e-4, start).ys[-1][range(0, 39, 8)];
  };
  expect_all_ways(steady, array({1., 0.2}));
}

TEST(Fields, BurgersAgainstColeHopf) {
  // u_t + u u_x = ν u_xx, periodic; u = -2 ν φ_x / φ with φ = 2 + cos(x) e^(-ν t).
  const int n = 64;
  const double nu = 0.1, h = 2 * M_PI / n;
  Array x = h * arange(double(n));
  auto exact = [&](double t) {
    Array e = std::exp(-nu * t) * cos(x);
    return 2 * nu * std::exp(-nu * t) * sin(x) / (2. + e);
  };
  // Spectral derivatives by a dense matrix (Trefethen, Spectral methods in MATLAB, 2000, program 4).
  Array i = arange(double(n)), k = expand_dims(i, 1) - expand_dims(i, 0);
  Array d1 = where(k == 0., 0., 0.5 * cos(M_PI * k) / tan(0.5 * h * where(k == 0., 1., k)));
  Array d2 = matmul(d1, d1);
  auto solve = [&](const Array& u0) {
    auto field = [&](const Array&, const Array& u) { return nu * dot(d2, u) - u * dot(d1, u); };
    return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 2., 0.01, u0,
                       {.controller = PIDController{.rtol = 1e-9, .atol = 1e-10}})
        .ys[-1];
  };
  expect_close(jit(solve)(exact(0)), exact(2), 1e-8);
  auto steady = [&](const Array& p) {
    auto field = [&](const Array&, const Array& u) { return p[1] * dot(d2, u) - u * dot(d1, u); };
    return diffeqsolve(ODETerm{field}, Bosh3{}, 0., 0.1, 0.01, exact(0) * p[0]).ys[-1][range(4, 64, 16)];
  };
  expect_all_ways(steady, array({1., nu}), {.direct = false});
}

TEST(Fields, AdvectionUpwind) {
  // At a Courant number of one the upwind scheme moves the profile by a cell a step, exactly.
  auto advect = [](const Array& u0, const Array& courant) {
    auto step = [&](const Array&, const Array& u) { return u - courant * (u - roll(u, 1, 0)); };
    return fori_loop(0, 30, step, astype(u0, courant.dtype()));
  };
  Array u0 = exp(-square((arange(50.) - 15.) / 4.));
  expect_close(jit(advect)(u0, array(1.)), roll(u0, 30, 0), 1e-13);
  EXPECT_NEAR(sum(jit(advect)(u0, array(0.4))).item<double>(), sum(u0).item<double>(), 1e-12);
  expect_all_ways([&](const Array& c) { return advect(u0, c[0])[range(0, 50, 7)]; }, array({0.4}),
                  {.single = 1e-4});
}

TEST(Fields, IsingModel) {
  // Four by four, periodic: the mean energy against the sum over all 65,536 states.
  const double beta = 0.3;
  double weight = 0, energy = 0;
  for (int code = 0; code < 65536; ++code) {
    int e = 0;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) {
        auto s = [&](int a, int b) { return (code >> ((a & 3) * 4 + (b & 3))) & 1 ? 1 : -1; };
        e -= s(i, j) * (s(i + 1, j) + s(i, j + 1));
      }
    weight += std::exp(-beta * e);
    energy += e * std::exp(-beta * e);
  }
  Array checker = (iota({4, 4}, 0) + iota({4, 4}, 1)) % 2;
  auto energy_of = [](const Array& s) { return -sum(s * (roll(s, 1, 0) + roll(s, 1, 1))); };
  auto chain = [&](const Array& key) {
    auto sweep = [&](const Array& s, const Array& i) {
      Array u = random::uniform(random::fold_in(key, i), {2, 4, 4}), next = s;
      for (int colour = 0; colour < 2; ++colour) {
        Array field = roll(next, 1, 0) + roll(next, -1, 0) + roll(next, 1, 1) + roll(next, -1, 1);
        Array up = u[colour] < sigmoid(2. * beta * astype(field, f64));
        next = where(checker == colour, where(up, 1, -1), next);
      }
      return std::pair{next, energy_of(next)};
    };
    Array trace = scan(sweep, ones({4, 4}, i64), arange(2000)).second;
    return mean(astype(trace[range(100, {})], f64));
  };
  Array means = jit(vmap(chain))(random::split(random::key(5), 16));
  // 30,000 sweeps of an energy with deviation 7 and a correlation of about 3 sweeps: 0.07; three of these.
  EXPECT_NEAR(mean(means).item<double>(), energy / weight, 0.21);
  EXPECT_EQ(jit(chain)(random::split(random::key(5), 16)[2]).item<double>(), means[2].item<double>());
}

TEST(Fields, GamblersRuin) {
  // From 3 of 10 with p = 0.48: hits 0 with probability ((q/p)^3 - (q/p)^10) / (1 - (q/p)^10).
  struct Walk {
    Array at, steps, key;
  };
  auto walk = [](const Array& key) {
    auto go = [](const Walk& w) {
      auto [now, later] = random::split<2>(w.key);
      return Walk{w.at + where(random::bernoulli(now, 0.48), 1, -1), w.steps + 1, later};
    };
    Walk end = while_loop([](const Walk& w) { return w.at > 0 && w.at < 10; }, go, Walk{3, 0, key});
    return std::pair{end.at == 0, end.steps};
  };
  Array keys = random::split(random::key(1), 20000);
  auto [ruined, steps] = jit(vmap(walk))(keys);
  const double r = 0.52 / 0.48, p = (std::pow(r, 3) - std::pow(r, 10)) / (1 - std::pow(r, 10));
  EXPECT_NEAR(mean(ruined).item<double>(), p, 0.0095);                           // three sigma
  EXPECT_NEAR(mean(steps).item<double>(), 3 / 0.04 - 10 / 0.04 * (1 - p), 0.5);  // likewise
  auto [locked, locked_steps] = jit(vmap(walk, {.loops = LaneLoops::Lockstep}))(keys);
  EXPECT_TRUE(tree_equal(steps, locked_steps) && tree_equal(ruined, locked));
  for (int i : {0, 77, 19999}) EXPECT_EQ(walk(keys[i]).second.item<int>(), steps[i].item<int>());
}

}  // namespace
}  // namespace apsis::scenarios
