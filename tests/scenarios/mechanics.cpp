// Mechanics with conserved quantities, and initial value problems with reference end values.

#include <cmath>

#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

struct Bodies {
  Array position, velocity;  // [n, 2]
};
Array acceleration(const Array& x) {
  Array d = expand_dims(x, 0) - expand_dims(x, 1);  // [i, j]: from i to j
  Array r2 = sum(square(d), {.axis = 2, .keepdims = true});
  return sum(where(r2 > 0., d / (r2 * sqrt(r2)), 0.), {.axis = 1});
}

TEST(Mechanics, FigureEightOfThreeBodies) {
  // Chenciner and Montgomery 2000; start and period by Simó (twelve and eight digits).
  const double x = 0.97000436, y = -0.24308753, u = -0.93240737, v = -0.86473146, period = 6.32591398;
  Bodies start{array({{x, y}, {-x, -y}, {0., 0.}}), array({{-u / 2, -v / 2}, {-u / 2, -v / 2}, {u, v}})};
  auto energy = [](const Bodies& b) {
    Array d = expand_dims(b.position, 0) - expand_dims(b.position, 1), r2 = sum(square(d), {.axis = 2});
    return 0.5 * sum(square(b.velocity)) - 0.5 * sum(where(r2 > 0., 1. / sqrt(r2), 0.));
  };
  auto orbit = [&](const Bodies& b, const Array& end) {
    auto field = [](const Array&, const Bodies& s) { return Bodies{s.velocity, acceleration(s.position)}; };
    auto sol = diffeqsolve(ODETerm{field}, Tsit5{}, 0., end, 0.01, b,
                           {.controller = PIDController{.rtol = 1e-11, .atol = 1e-12}, .max_steps = 20000});
    return Bodies{sol.ys.position[-1], sol.ys.velocity[-1]};
  };
  Bodies end = jit(orbit)(start, period);
  expect_close(end.position, start.position, 2e-6);  // eight digits of the period times speeds of order one
  EXPECT_NEAR(energy(end).item<double>(), energy(start).item<double>(), 1e-9);
  // Leapfrog does not drift: the energy error after ten periods is that after one.
  auto leapfrog = [&](const Bodies& b, int steps) {
    const double h = 0.005;
    auto kick = [&](const Array&, const Bodies& s) {
      Array half = s.velocity + 0.5 * h * acceleration(s.position), moved = s.position + h * half;
      return Bodies{moved, half + 0.5 * h * acceleration(moved)};
    };
    return fori_loop(0, steps, kick, b);
  };
  Bodies far = jit(leapfrog)(start, 12650);
  EXPECT_NEAR(energy(far).item<double>(), energy(start).item<double>(), 1e-4);  // h²
  // Backwards in time it comes from where it started.
  Bodies back = jit(leapfrog)(Bodies{end.position, -end.velocity}, 1000);
  Bodies again = jit(leapfrog)(Bodies{back.position, -back.velocity}, 1000);
  expect_close(again.position, end.position, 1e-10);
  expect_all_ways(
      [&](const Array& p) {
        return ravel(leapfrog({start.position, reshape(p, {3, 2})}, 20).position);
      },
      ravel(start.velocity));
  expect_all_ways(
      [&](const Array& p) {
        return energy(orbit({start.position, start.velocity * p[0]}, p[1]));
      },
      array({1.01, 0.5}),
      {.modes = 1e-6, .differences = 0});  // energy has no derivative by time: rounding is left
}

TEST(Mechanics, DoublePendulum) {
  auto field = [](const Array&, const Array& s) {
    auto [a, b, p, q] = unstack<4>(s);
    Array d = a - b, c = cos(d), n = 3. - cos(2. * d);
    Array da = (-9.81 * (3. * sin(a) + sin(a - 2. * b)) - 2. * sin(d) * (q * q + p * p * c)) / n;
    Array db = 2. * sin(d) * (2. * p * p + 2. * 9.81 * cos(a) + q * q * c) / n;
    return stack({p, q, da, db});
  };
  auto energy = [](const Array& s) {
    auto [a, b, p, q] = unstack<4>(s);
    return p * p + 0.5 * q * q + p * q * cos(a - b) - 9.81 * (2. * cos(a) + cos(b));
  };
  auto solve = [&](const Array& y0, const Array& end) {
    return diffeqsolve(ODETerm{field}, Dopri5{}, 0., end, {}, y0,
                       {.controller = PIDController{.rtol = 1e-10, .atol = 1e-10}})
        .ys[-1];
  };
  // Small swings are harmonic: the slow mode has ω² = g (2 - √2), amplitudes 1 : √2.
  const double w = std::sqrt(9.81 * (2 - std::sqrt(2.))), small = 1e-4;
  Array slow = jit(solve)(small * array({1., std::sqrt(2.), 0., 0.}), 2.);
  expect_close(slow[range(0, 2)] / small, std::cos(w * 2) * array({1., std::sqrt(2.)}), 1e-6);
  Array wild = array({2., 2.5, 0., 0.});
  EXPECT_NEAR(energy(jit(solve)(wild, 5.)).item<double>(), energy(wild).item<double>(), 1e-6);
  Array ends = jit(vmap(solve, {.in_axes = {0, {}}}))(stack({wild, wild * 0.1, wild * 1e-3}), 1.);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(tree_equal(ends[i], jit(solve)(stack({wild, wild * 0.1, wild * 1e-3})[i], 1.))) << i;
  expect_all_ways([&](const Array& y) { return solve(y, 1.); }, wild,
                  {.modes = 1e-7, .differences = 1e-4, .direct = false});
}

TEST(Mechanics, RigidBodyByQuaternions) {
  struct Body {
    Array attitude, rate;  // unit quaternion, angular velocity in the body
  };
  Array inertia = array({1., 2., 3.});
  auto times = [](const Array& p, const Array& q) {
    auto [a, b, c, d] = unstack<4>(p);
    auto [e, f, g, h] = unstack<4>(q);
    return stack({a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f,
                  a * h + b * g - c * f + d * e});
  };
  auto cross = [](const Array& x, const Array& y) {
    return roll(x, -1, 0) * roll(y, 1, 0) - roll(x, 1, 0) * roll(y, -1, 0);
  };
  auto field = [&](const Array&, const Body& s) {
    return Body{0.5 * times(s.attitude, concatenate({zeros({1}), s.rate})),
                cross(inertia * s.rate, s.rate) / inertia};
  };
  auto to_world = [&](const Body& s) {  // the angular momentum, which stays
    Array conjugate = s.attitude * array({1., -1., -1., -1.});
    return times(times(s.attitude, concatenate({zeros({1}), inertia * s.rate})), conjugate)[range(1, {})];
  };
  auto spin = [&](const Array& rate) {
    auto sol = diffeqsolve(ODETerm{field}, Tsit5{}, 0., 10., 0.01, Body{array({1., 0., 0., 0.}), rate},
                           {.controller = PIDController{.rtol = 1e-10, .atol = 1e-12}});
    return Body{sol.ys.attitude[-1], sol.ys.rate[-1]};
  };
  Array rate = array({0.3, 1., 0.2});
  Body end = jit(spin)(rate);
  expect_close(to_world(end), inertia * rate, 1e-8);
  EXPECT_NEAR(norm(end.attitude).item<double>(), 1, 1e-8);
  // A symmetric top precesses at (I3 - I1) / I1 ω3; here about its own axis alone.
  Body still = jit(spin)(array({0., 0., 0.7}));
  expect_close(still.attitude, array({std::cos(3.5), 0., 0., std::sin(3.5)}), 1e-8);
  expect_all_ways([&](const Array& r) { return to_world(spin(r)); }, rate,
                  {.modes = 1e-6, .differences = 1e-4, .direct = false});
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

TEST(Mechanics, KnownEndValues) {
  for (const KnownEnd& p : known_ends()) {
    auto solve = [&](const Array& y0) {
      return diffeqsolve(ODETerm{p.field}, Dopri5{}, 0., p.t1, {}, y0,
                         {.controller = PIDController{.rtol = 1e-11, .atol = 1e-12}, .max_steps = 20000})
          .ys[-1];
    };
    expect_close(jit(solve)(array(p.y0)), array(p.y1), p.tolerance, p.name);
    auto brief = [&](const Array& y0) {
      return diffeqsolve(ODETerm{p.field}, Heun{}, 0., 0.1, 0.005, y0).ys[-1];
    };
    expect_all_ways(brief, array(p.y0) + 0.01, {.differences = 1e-4, .direct = false, .lanes = {3}});
  }
}

TEST(Mechanics, Misuses) {
  auto decay = [](const Array&, const Array& y) { return -y; };
  expect_misuse("raise max_steps",
                [&] { diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, array({1.}), {.max_steps = 3}); });
  expect_misuse("infinite or NaN", [&] {
    auto grows = [](const Array&, const Array& y) { return y * y * y; };
    diffeqsolve(ODETerm{grows}, Euler{}, 0., 1e6, 1., array({1e100}));
  });
  expect_misuse("y0 is i32[2]", [&] { diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, array({1, 2})); });
  expect_misuse("f64[1]", [&] {
    auto wrong = [](const Array&, const Array& y) { return sum(y, {.keepdims = true}); };
    diffeqsolve(ODETerm{wrong}, Tsit5{}, 0., 1., 0.1, array({1., 2.}));
  });
  expect_misuse("axis 2 is out of range for shape [4]", [&] { roll(array({1., 2., 3., 4.}), 1, 2); });
}

}  // namespace
}  // namespace apsis::scenarios
