// Control and robotics: regulators, trajectory optimisation, predictive control, kinematics, estimation of
// cameras, contact events. The regulator's values are SciPy's (reference/control.py).

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

TEST(Control, InverseKinematics) {
  // A planar arm of two links has a closed form.
  auto hand = [](const Array& q) {
    return stack({cos(q[0]) + 0.8 * cos(q[0] + q[1]), sin(q[0]) + 0.8 * sin(q[0] + q[1])});
  };
  struct Search {
    Array q, steps;
  };
  auto reach = [&](const Array& target) {
    auto far = [&](const Search& s) { return norm(hand(s.q) - target) > 1e-12 && s.steps < 50; };
    auto step = [&](const Search& s) {
      return Search{s.q - solve_general(jacfwd(hand)(s.q), hand(s.q) - target), s.steps + 1};
    };
    return while_loop(far, step, Search{array({0.3, 1.2}), 0});
  };
  Array target = array({0.9, 1.1});
  const double r2 = 0.81 + 1.21, c = (r2 - 1 - 0.64) / 1.6, s = std::sqrt(1 - c * c);
  expect_close(jit(reach)(target).q,
               array({std::atan2(1.1, 0.9) - std::atan2(0.8 * s, 1 + 0.8 * c), std::acos(c)}), 1e-11);
  expect_all_ways([&](const Array& t) { return reach(t).q; }, target, {.modes = 1e-8, .lanes = {1, 9}});
  // A circle of targets, of which some are hard to reach: each stops when it is there.
  Array angle = linspace(0., 1.5, 40), targets = 1.6 * stack({cos(angle), sin(angle)}, 1);
  Search all = jit(vmap(reach))(targets);
  expect_close(vmap(hand)(all.q), targets, 1e-11);
  EXPECT_GT(max(all.steps).item<int>(), min(all.steps).item<int>());
}

struct Cart {
  Array x, v, angle, rate;
};
struct CartParameters {
  Array mass, pole, length;
};

TEST(Control, CartpoleRollouts) {
  auto step = [](const CartParameters& p, const Cart& s, const Array& force) {
    const double g = 9.8, dt = 0.02;
    Array total = p.mass + p.pole, sine = sin(s.angle), cosine = cos(s.angle);
    Array t = (force + p.pole * p.length * s.rate * s.rate * sine) / total;
    Array bend = (g * sine - cosine * t) / (p.length * (4. / 3 - p.pole * cosine * cosine / total));
    Array push = t - p.pole * p.length * bend * cosine / total;
    return Cart{s.x + dt * s.v, s.v + dt * push, s.angle + dt * s.rate, s.rate + dt * bend};
  };
  // Gym's cart: how long a linear policy holds the pole up.
  struct Episode {
    Cart cart;
    Array steps;
  };
  auto episode = [&](const CartParameters& p, const Array& policy, const Array& start) {
    auto up = [](const Episode& e) {
      return abs(e.cart.x) < 2.4 && abs(e.cart.angle) < 0.2095 && e.steps < 500;
    };
    auto go = [&](const Episode& e) {
      Array lean = dot(policy, stack({e.cart.x, e.cart.v, e.cart.angle, e.cart.rate}));
      return Episode{step(p, e.cart, where(lean > 0., 10., -10.)), e.steps + 1};
    };
    return while_loop(up, go, Episode{Cart{start[0], start[1], start[2], start[3]}, 0}).steps;
  };
  auto plain = [](const std::vector<double>& w, std::vector<double> s) {
    int steps = 0;
    while (std::abs(s[0]) < 2.4 && std::abs(s[2]) < 0.2095 && steps < 500) {
      double lean = w[0] * s[0] + w[1] * s[1] + w[2] * s[2] + w[3] * s[3], f = lean > 0 ? 10 : -10;
      double t = (f + 0.1 * 0.5 * s[3] * s[3] * std::sin(s[2])) / 1.1;
      double b = (9.8 * std::sin(s[2]) - std::cos(s[2]) * t) /
                 (0.5 * (4. / 3 - 0.1 * std::cos(s[2]) * std::cos(s[2]) / 1.1));
      double a = t - 0.1 * 0.5 * b * std::cos(s[2]) / 1.1;
      s = {s[0] + 0.02 * s[1], s[1] + 0.02 * a, s[2] + 0.02 * s[3], s[3] + 0.02 * b};
      ++steps;
    }
    return steps;
  };
  CartParameters p{1., 0.1, 0.5};
  auto [k1, k2] = random::split<2>(random::key(2));
  Array policies = random::normal(k1, {20, 4}), starts = random::uniform(k2, {10, 4}, f64, -0.05, 0.05);
  auto grid = vmap(vmap(episode, {.in_axes = {{}, {}, 0}}), {.in_axes = {{}, 0, {}}});
  Array steps = jit(grid)(p, policies, starts);
  ASSERT_EQ(steps.shape(), Shape({20, 10}));
  // Chaos magnifies roundings only near the border of the policy: short episodes are exact.
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 10; ++j)
      EXPECT_EQ(steps(i, j).item<int>(),
                plain(policies[i].to_vector<double>(), starts[j].to_vector<double>()))
          << i << ' ' << j;
  Array locked = jit(vmap(vmap(episode, {.in_axes = {{}, {}, 0}, .loops = LaneLoops::Lockstep}),
                          {.in_axes = {{}, 0, {}}, .loops = LaneLoops::Lockstep}))(p, policies, starts);
  EXPECT_TRUE(tree_equal(steps, locked));
}

TEST(Control, BundleAdjustment) {
  // Three cameras see twelve points: from a disturbed start, the reprojection error goes to zero.
  struct Scene {
    Array cameras, points;  // [n, 6]: rotation vector, translation; [m, 3]
  };
  auto rotate = [](const Array& w, const Array& x) {  // Rodrigues
    auto cross = [](const Array& a, const Array& b) {
      return roll(a, -1, 0) * roll(b, 1, 0) - roll(a, 1, 0) * roll(b, -1, 0);
    };
    Array t2 = dot(w, w), small = t2 < 1e-12, t = sqrt(where(small, 1., t2));
    Array s = where(small, 1., sin(t) / t), c = where(small, 0.5, (1. - cos(t)) / (t * t));
    return x + s * cross(w, x) + c * cross(w, cross(w, x));
  };
  auto project = [&](const Array& camera, const Array& x) {
    Array y = rotate(camera[range(0, 3)], x) + camera[range(3, {})];
    return y[range(0, 2)] / y[2];
  };
  auto picture = [&](const Scene& s) {
    return vmap(vmap(project, {.in_axes = {{}, 0}}), {.in_axes = {0, {}}})(s.cameras, s.points);
  };
  auto [a, b, c] = random::split<3>(random::key(4));
  Scene truth{
      concatenate({0.2 * random::normal(a, {3, 3}), array({{0., 0., 5.}, {0.5, 0., 5.}, {0., -0.5, 5.5}})},
                  1),
      random::normal(b, {12, 3})};
  truth.cameras = truth.cameras.at(0, range(0, 3)).set(0.);  // the first one looks straight: rotation 0
  Array seen = picture(truth);
  auto flat = [&](const Scene& s) { return concatenate({ravel(s.cameras), ravel(s.points)}); };
  auto scene = [](const Array& p) {
    return Scene{reshape(p[range(0, 18)], {3, 6}), reshape(p[range(18, {})], {12, 3})};
  };
  auto residual = [&](const Array& p) { return ravel(picture(scene(p)) - seen); };
  auto adjust = [&](const Array& start) {
    auto step = [&](const Array&, const Array& p) {
      Array r = residual(p), j = jacfwd(residual)(p);
      return p - solve_positive(matmul(transpose(j), j) + 1e-8 * eye(54), matmul(transpose(j), r));
    };
    return fori_loop(0, 12, step, start);
  };
  Array start = flat(truth) + 0.02 * random::normal(c, {54});
  Array end = jit(adjust)(start);
  EXPECT_GT(norm(residual(start)).item<double>(), 1e-2);
  EXPECT_LT(norm(residual(end)).item<double>(), 1e-9);
  // The derivative of a rotation by zero is there: `where` leaves no trace of what it did not choose.
  expect_all_ways(
      [&](const Array& w) {
        return rotate(w, array({1., 2., 3.}));
      },
      array({1e-9, 0., 0.}), {.differences = 0});
  expect_all_ways(
      [&](const Array& p) {
        return residual(concatenate({p, start[range(18, {})]}));
      },
      start[range(0, 18)], {.lanes = {3}});
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
