// Control: regulators, trajectory optimisation, predictive control, contact events, steady states. The
// regulator's values are SciPy's (reference/control.py).

#include <cmath>

#include "scenarios/linear.hpp"
#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

struct Plant {
  Array a, b, q, r;
};
Plant plant() {
  return {array({{1., 0.1}, {0.05, 0.98}}), array({{0.005}, {0.1}}), diag(array({1., 0.1})), array({{0.01}})};
}
struct Regulator {
  Array p, k, change, steps;
};
/// The Riccati equation by iteration until it stands still.
Regulator regulate(const Plant& s) {
  auto next = [&](const Regulator& o) {
    Array bp = matmul(transpose(s.b), o.p), h = s.r + matmul(bp, s.b);
    Array k = matmul(bp, s.a) / h[0];
    Array p = s.q + matmul(transpose(s.a), matmul(o.p, s.a)) - matmul(transpose(k), matmul(h, k));
    return Regulator{p, k, max(abs(p - o.p)), o.steps + 1};
  };
  return while_loop([](const Regulator& o) { return o.change > 1e-13; }, next,
                    Regulator{s.q, zeros({1, 2}), 1., 0}, {.max_steps = 5000});
}

TEST(Control, LinearQuadraticRegulator) {
  Regulator found = jit(regulate)(plant());
  expect_close(found.p,
               array({{6.007572597411335, 1.0422089324216128}, {1.0422089324216128, 0.5898782746491654}}),
               1e-10);  // steps below 1e-13 at a rate of 0.9
  expect_close(found.k, array({{8.043253411513627, 4.466676137528615}}), 1e-10);
  // Sensitivity of the cost to every entry of the plant, through thousands of iterations.
  auto cost = [](const Array& p) {
    Plant s{reshape(p[range(0, 4)], {2, 2}), reshape(p[range(4, 6)], {2, 1}), diag(p[range(6, 8)]),
            reshape(p[range(8, 9)], {1, 1})};
    Regulator o = regulate(s);
    return stack({o.p(0, 0), o.p(1, 1), o.k(0, 0)});
  };
  expect_all_ways(cost, array({1., 0.1, 0.05, 0.98, 0.005, 0.1, 1., 0.1, 0.01}), {.lanes = {1, 6}});
}

Array pendulum(const Array& s, const Array& u) {  // angle 0 is upright
  const double dt = 0.05;
  Array speed = s[1] + dt * (9.81 * sin(s[0]) + u[0]);
  return stack({s[0] + dt * speed, speed});
}

TEST(Control, SwingUpByIterativeLqr) {
  const int steps = 60;
  struct Plan {
    Array controls, cost;
  };
  struct Value {
    Array gradient, hessian;
  };
  struct Gain {
    Array open, closed;
  };
  auto stage = [](const Array& s, const Array& u) { return 1e-2 * u[0] * u[0] + 1e-3 * (s[1] * s[1]); };
  auto last = [](const Array& s) { return 2000. * (1. - cos(s[0])) + 200. * s[1] * s[1]; };
  auto rollout = [&](const Array& s0, const Array& controls) {
    return scan([&](const Array& s, const Array& u) { return std::pair{pendulum(s, u), s}; }, s0, controls);
  };
  auto total = [&](const Array& s0, const Array& controls) {
    auto [end, states] = rollout(s0, controls);
    return sum(vmap(stage)(states, controls)) + last(end);
  };
  auto improve = [&](const Array& s0, const Plan& plan) {
    auto [end, states] = rollout(s0, plan.controls);
    auto back = [&](const Value& v, const std::pair<Array, Array>& at) {
      const auto& [s, u] = at;
      Array fs = jacfwd<0>(pendulum)(s, u), fu = jacfwd<1>(pendulum)(s, u);
      auto [ls, lu] = grad<0, 1>(stage)(s, u);
      Array lss = hessian(stage)(s, u), luu = hessian<1>(stage)(s, u);
      Array qs = ls + matmul(v.gradient, fs), qu = lu + matmul(v.gradient, fu);
      Array qss = lss + matmul(transpose(fs), matmul(v.hessian, fs));
      Array quu = luu + matmul(transpose(fu), matmul(v.hessian, fu)) + 1e-6;
      Array qus = matmul(transpose(fu), matmul(v.hessian, fs));
      Gain g{-qu / quu[0], -qus / quu[0]};
      return std::pair{Value{qs + matmul(g.open, qus), qss + matmul(transpose(qus), g.closed)}, g};
    };
    auto gains = scan(back, Value{grad(last)(end), hessian(last)(end)}, std::pair{states, plan.controls},
                      {.reverse = true})
                     .second;
    auto attempt = [&](const Array& size) {
      auto forward = [&](const Array& s, const std::pair<Gain, std::pair<Array, Array>>& at) {
        const auto& [g, old] = at;
        Array u = old.second + size * g.open + matmul(g.closed, s - old.first);
        return std::pair{pendulum(s, u), u};
      };
      Array controls = scan(forward, s0, std::pair{gains, std::pair{states, plan.controls}}).second;
      return Plan{controls, total(s0, controls)};
    };
    // All step lengths at once; the best, if it is one.
    Plan tried = vmap(attempt)(pow(0.5, arange(8.)));
    Array cost = where(isfinite(tried.cost), tried.cost, INFINITY), best = argmin(cost);
    return cond(
        cost[best] < plan.cost,
        [&](const Plan&) {
          return Plan{tried.controls[best], tried.cost[best]};
        },
        [](const Plan& p) { return p; }, plan);
  };
  auto swing_up = [&](const Array& s0) {
    Array push = full({steps, 1}, 10.);  // more than gravity: zero would be a stationary point
    return fori_loop(
        0, 100, [&](const Array&, const Plan& p) { return improve(s0, p); }, Plan{push, total(s0, push)});
  };
  Array hanging = array({M_PI - 0.05, 0.});
  Plan plan = jit(swing_up)(hanging);
  Array end = rollout(hanging, plan.controls).first;
  EXPECT_NEAR(std::cos(end[0].item<double>()), 1, 1e-3);
  EXPECT_NEAR(end[1].item<double>(), 0, 0.1);
  // It is an optimum: no gradient is left.
  expect_close(jit(grad<1>(total))(hanging, plan.controls), zeros({steps, 1}), 1e-3);
  Array starts = stack({hanging, array({2.5, 0.}), array({0.5, 0.3})});
  Plan many = jit(vmap(swing_up))(starts);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(tree_equal(many.controls[i], jit(swing_up)(starts[i]).controls)) << i;
}

TEST(Control, PredictiveControlWithBounds) {
  Plant s = plant();
  const int horizon = 20;
  Array p = array({{6.007572597411335, 1.0422089324216128}, {1.0422089324216128, 0.5898782746491654}});
  auto control = [&](const Array& x0, const Array& bound) {
    auto cost = [&](const Array& u) {
      auto step = [&](const Array& x, const Array& ui) {
        Array next = dot(s.a, x) + s.b(range(), 0) * ui;
        return std::pair{next, dot(x, dot(s.q, x)) + s.r(0, 0) * ui * ui};
      };
      auto [end, costs] = scan(step, x0, u);
      return sum(costs) + dot(end, dot(p, end));  // beyond the horizon the regulator takes over
    };
    Array curvature = max(sum(abs(hessian(cost)(zeros({horizon}))), {.axis = 0}));
    auto descend = [&](const Array&, const std::pair<Array, Array>& c) {  // Nesterov's method
      const auto& [u, before] = c;
      Array ahead = u + 0.9 * (u - before);
      return std::pair{clip(ahead - grad(cost)(ahead) / curvature, -bound, bound), u};
    };
    Array zero = zeros({horizon});
    return fori_loop(0, 600, descend, std::pair{zero, zero}).first;
  };
  Array x0 = array({0.02, 0.01});
  // Without active bounds the first move is the regulator's.
  Array free = jit(control)(x0, 100.);
  EXPECT_NEAR(free[0].item<double>(),
              -dot(array({{8.043253411513627, 4.466676137528615}})[0], x0).item<double>(),
              1e-6);  // 600 steps of a first-order method
  Array tight = jit(control)(x0, 0.02);
  EXPECT_NEAR(tight[0].item<double>(), -0.02, 1e-15);
  EXPECT_LE(max(abs(tight)).item<double>(), 0.02);
  expect_all_ways([&](const Array& x) { return control(x, 0.05)[range(0, 20, 5)]; }, x0,
                  {.eager = 1e-9, .differences = 1e-4, .direct = false});
}

TEST(Control, BouncingBallByEvents) {
  // Flights between bounces in closed form inside a loop that ends when the time is up.
  struct Ball {
    Array time, height, speed, bounces;
  };
  auto fly = [](const Array& p, double end) {
    auto [height, restitution] = unstack<2>(p);
    const double g = 9.81;
    auto impact = [&](const Ball& b) { return (b.speed + sqrt(b.speed * b.speed + 2. * g * b.height)) / g; };
    auto more = [&](const Ball& b) { return b.time + impact(b) < end; };
    auto bounce = [&](const Ball& b) {
      Array t = impact(b);
      return Ball{b.time + t, 0., -restitution * (b.speed - g * t), b.bounces + 1};
    };
    Ball b = while_loop(more, bounce, Ball{0., height, 0., 0}, {.max_steps = 100});
    Array rest = end - b.time;
    return std::pair{b.height + b.speed * rest - 0.5 * g * rest * rest, b.bounces};
  };
  // Time of the n-th bounce: √(2h/g) (1 + 2 Σ eᵏ).
  const double h = 2, e = 0.8, t1 = std::sqrt(2 * h / 9.81), end = 3;
  double time = t1, speed = e * std::sqrt(2 * 9.81 * h);
  int n = 1;
  while (time + 2 * speed / 9.81 < end) time += 2 * speed / 9.81, speed *= e, ++n;
  auto [at, bounces] = jit([&](const Array& p) { return fly(p, end); })(array({h, e}));
  EXPECT_EQ(bounces.item<int>(), n);
  EXPECT_NEAR(at.item<double>(), speed * (end - time) - 0.5 * 9.81 * (end - time) * (end - time), 1e-12);
  expect_all_ways([&](const Array& p) { return fly(p, end).first; }, array({h, e}),
                  {.second = true, .lanes = {1, 9, 33}});
  Array many = linspace(0.75, 0.95, 64);
  Array heights = jit(vmap([&](const Array& r) { return fly(stack({Array(h), r}), end).first; }))(many);
  EXPECT_TRUE(all(heights >= 0.).item<bool>());
}

TEST(Control, SteadyStateSensitivity) {
  // A tank with reaction: 0 = k (c_in - c) - r c²; by the root, and by running the plant until it stands
  // still.
  struct Tank {
    Array feed, inflow, reaction;
  };
  auto rate = [](const Tank& p, const Array& c) { return p.feed * (p.inflow - c) - p.reaction * c * c; };
  auto steady = [&](const Tank& p) {
    return custom_root([&](const Array& c) { return rate(p, c); }, p.inflow,
                       [](const auto& f, const Array& start) {
                         return while_loop([&](const Array& c) { return abs(f(c)) > 1e-14; },
                                           [&](const Array& c) { return c + 0.05 * f(c); }, start);
                       },
                       [](const auto& slope, const Array& y) { return y / slope(ones_like(y)); });
  };
  Tank p{2., 3., 1.5};
  const double c = (-2 + std::sqrt(4 + 4 * 1.5 * 6)) / 3, d = 2 + 2 * 1.5 * c;
  EXPECT_NEAR(jit(steady)(p).item<double>(), c, 1e-13);
  Tank g = jit(grad(steady))(p);
  EXPECT_NEAR(g.feed.item<double>(), (3 - c) / d, 1e-12);
  EXPECT_NEAR(g.inflow.item<double>(), 2 / d, 1e-12);
  EXPECT_NEAR(g.reaction.item<double>(), -c * c / d, 1e-12);
  expect_all_ways(
      [&](const Array& q) {
        return steady({q[0], q[1], q[2]});
      },
      array({2., 3., 1.5}), {.second = true});
}

TEST(Control, Misuses) {
  Array x = array({0.1, 0.2});
  expect_misuse("axes [1] of shape [2, 2] cannot be contracted with axes [0] of shape [3]", [&] {
    dot(plant().a, array({1., 2., 3.}));
  });
  expect_misuse("asked for 3 entries of shape [2] along axis 0", [&] { auto [a, b, c] = unstack<3>(x); });
  expect_misuse("all branches must return equal shapes and dtypes", [&] {
    cond(
        x[0] > 0., [](const Array& v) { return v; }, [](const Array& v) { return v[0]; }, x);
  });
  expect_misuse("the predicate must be a boolean scalar, got bool[2]", [&] {
    cond(
        x > 0., [](const Array& v) { return v; }, [](const Array& v) { return -v; }, x);
  });
  expect_misuse("chained comparison", [&] { Array inside = 0. < x < 1.; });
  expect_misuse("the condition must return one boolean scalar, got bool[2]", [&] {
    while_loop([](const Array& v) { return v < 1.; }, [](const Array& v) { return v * 2.; }, x);
  });
  expect_misuse("carry.k is f64[1,2] on entry and f64[2] on return", [&] {
    while_loop([](const Regulator& o) { return o.steps < 3; },
               [](const Regulator& o) {
                 return Regulator{o.p, o.k[0], o.change, o.steps + 1};
               },
               Regulator{eye(2), zeros({1, 2}), 1., 0});
  });
  expect_misuse("the shape [8] has 8 elements, which do not fill [3, 3]", [&] {
    reshape(arange(8.), {3, 3});
  });
}

}  // namespace
}  // namespace apsis::scenarios
