// Robotics: kinematics, rollouts of policies, cameras. Known answers are closed forms and plain C++.

#include <cmath>

#include "scenarios/linear.hpp"
#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

TEST(Robotics, InverseKinematics) {
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

TEST(Robotics, CartpoleRollouts) {
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

TEST(Robotics, BundleAdjustment) {
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

}  // namespace
}  // namespace apsis::scenarios
