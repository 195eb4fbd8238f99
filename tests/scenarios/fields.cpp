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

struct KnownEnd {
  const char* name;
  std::function<Array(const Array& t, const Array& y)> field;
  std::vector<double> y0, y1;
  double t1, tolerance;
};

// End values as in the tests of Hairer, Nørsett and Wanner, and the IVP test set.
std::vector<KnownEnd> known_ends() {
  return {
      {"Brusselator",
       [](const Array&, const Array& y) {
         return stack({1. + y[0] * y[0] * y[1] - 4. * y[0], 3. * y[0] - y[0] * y[0] * y[1]});
       },
       {1.5, 3.},
       {0.4986370712683478, 4.596780349452011},
       20,
       1e-8},
      {"rigid body",
       [](const Array&, const Array& y) {
         return roll(y, -1, 0) * roll(y, 1, 0) * array({1., -1., -0.51});
       },
       {0., 1., 1.},
       {-0.9396570798729204, -0.3421177754000749, 0.7414126596199953},
       20,
       1e-8},
      {"Pleiades",
       [](const Array&, const Array& y) {
         Array x = y[range(0, 7)], z = y[range(7, 14)], mass = arange(1., 8.);
         Array dx = expand_dims(x, 0) - expand_dims(x, 1), dz = expand_dims(z, 0) - expand_dims(z, 1);
         Array r = pow(dx * dx + dz * dz + eye(7), 1.5);
         return concatenate(
             {y[range(14, {})], sum(mass * dx / r, {.axis = 1}), sum(mass * dz / r, {.axis = 1})});
       },
       {3., 3., -1., -3., 2., -2.,  2.,   3., -3., 2., 0.,    0., -4., 4.,
        0., 0., 0.,  0.,  0., 1.75, -1.5, 0., 0.,  0., -1.25, 1., 0.,  0.},
       {0.37061391439705127,  3.237284092057233,   -3.2225590324183235, 0.6597091455775308,
        0.342558170715658,    1.5621721014006311,  -0.7003092922212495, -3.943437585517392,
        -3.27138097397255,    5.225081843456544,   -2.5906124349774693, 1.1982136933922747,
        -0.24296823449358235, 1.0914492404289797,  3.4170038063143147,  1.3545845016255011,
        -2.5900655978107756,  2.025053734714241,   -1.155815100160449,  -0.8072988170223022,
        0.5952396354208719,   -3.7412449612340084, 0.3773459685750629,  0.9386858869551079,
        0.36679222272005696,  -0.3474046353808494, 2.344915448180937,   -1.947020434263292},
       3,
       1e-6},
      {"Arenstorf",
       [](const Array&, const Array& y) {
         auto [x, z, u, v] = unstack<4>(y);
         const double mu = 0.012277471, nu = 1 - mu;
         Array a = x + mu, b = x - nu, d = pow(a * a + z * z, 1.5), e = pow(b * b + z * z, 1.5);
         return stack({u, v, x + 2. * v - nu * a / d - mu * b / e, z - 2. * u - nu * z / d - mu * z / e});
       },
       {0.994, 0., 0., -2.00158510637908252},
       {0.994, 0., 0., -2.00158510637908252},
       17.0652165601579626,
       1e-4},  // the orbit returns, and magnifies errors by about 1e6
  };
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
