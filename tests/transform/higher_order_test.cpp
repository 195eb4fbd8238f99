// Forward and reverse mode in every order of nesting, to the fourth; linear programs used again.

#include <gtest/gtest.h>

#include <functional>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

using Function = std::function<Array(const Array&)>;

/// f' of a function of a scalar, by one mode or the other.
Function derivative(const Function& f, bool reverse) {
  if (reverse) return [f](const Array& x) { return grad(f)(x); };
  return [f](const Array& x) { return jvp(f, x, ones_like(x)).second; };
}

/// The fourth derivative in all sixteen orders of forward and reverse mode, at once and compiled.
void expect_fourth(const Function& f, double at, double want, double tolerance) {
  for (int modes = 0; modes < 16; ++modes) {
    SCOPED_TRACE("reverse where the bit is set, the innermost lowest: " + std::to_string(modes));
    Function d = f;
    for (int order = 0; order < 4; ++order) d = derivative(d, modes >> order & 1);
    expect_near(d(array(at)), array(want), tolerance);
    expect_near(jit(d)(array(at)), array(want), tolerance);
    expect_near(vmap(d)(array({at, at})), array({want, want}), tolerance);
  }
}

TEST(HigherOrders, OfElementaryFunctions) {
  expect_fourth([](const Array& x) { return sin(2. * x) * x; }, 0.3,
                16. * 0.3 * std::sin(0.6) - 32. * std::cos(0.6), 1e-12);
  // (log x)'''' = -6 / x^4, and x^5 has 120 x.
  expect_fourth([](const Array& x) { return log(x) + pow(x, 5); }, 1.7, -6. / std::pow(1.7, 4) + 120. * 1.7,
                1e-11);
}

// x^(2·3), by squaring in a loop and then a scan: 6·5·4·3 x².
Array sixth_power(const Array& x) {
  Array square = while_loop([](const std::pair<Array, Array>& s) { return s.first < 1; },
                            [](const std::pair<Array, Array>& s) {
                              return std::pair<Array, Array>{s.first + 1, s.second * s.second};
                            },
                            std::pair<Array, Array>{array(0), x})
                     .second;
  return scan(
             [&](const Array& y, const Nothing&) {
               return std::pair{y * square, Nothing{}};
             },
             ones_like(x), Nothing{}, {.length = 3})
      .first;
}

TEST(HigherOrders, OfLoops) { expect_fourth(&sixth_power, 0.8, 360. * 0.64, 1e-11); }

TEST(HigherOrders, OfBranches) {
  expect_fourth(
      [](const Array& x) {
        return cond(
            x > 0., [](const Array& y) { return exp(y) * y; }, [](const Array& y) { return y; }, x);
      },
      0.5, std::exp(0.5) * 4.5, 1e-12);
}

TEST(HigherOrders, HessianVectorProductsAgree) {
  auto loss = [](const Array& x) { return sum(sin(x) * cumsum(x * x)); };
  Array x = cos(arange(6.)), v = sin(arange(6.) + 1.);
  Array want = dot(hessian(loss)(x), v);
  expect_near(jvp(grad(loss), x, v).second, want, 1e-12);
  expect_near(grad([&](const Array& y) { return jvp(loss, y, v).second; })(x), want, 1e-12);
  expect_near(grad([&](const Array& y) { return sum(grad(loss)(y) * v); })(x), want, 1e-12);
  // Forward over reverse over forward: the third derivative along v, as a vector.
  auto along = [&](const Array& y) { return jvp(loss, y, v).second; };
  Array third = jvp(grad(along), x, v).second;
  expect_near(third, differences([&](const Array& y) { return jvp(along, y, v).second; }, x), 1e-8);
}

struct Parameters {
  Array rate;
  Array steps;  // integers: no tangent
};
struct State {
  Array i, y;
};
Array decay(const Parameters& p, const Array& y0) {
  return while_loop([&](const State& s) { return s.i < p.steps; },
                    [&](const State& s) {
                      return State{s.i + 1, s.y * p.rate - 0.1 * sin(s.y)};
                    },
                    State{array(0), y0})
      .y;
}

TEST(Linearize, IsUsedAgain) {
  Parameters p{array(0.9), array(5)};
  Array y0 = array({1., -2., 0.5});
  auto [y, push] = linearize(&decay, p, y0);
  expect_near(y, decay(p, y0));
  for (double scale : {1., -2.5, 0.}) {
    Parameters dp{array(0.3 * scale), {}};
    Array dy = scale * array({0.1, 1., -1.});
    using Arguments = std::tuple<Parameters, Array>;
    Array want = jvp(&decay, Arguments{p, y0}, Arguments{dp, dy}).second;
    expect_near(push(dp, dy), want);
    expect_near(jit([&](const Array& t) { return push(dp, t); })(dy), want);
  }
  // The push-forward is linear, so it is its own derivative; and it is mapped like any function.
  Parameters dp{array(0.3), {}};
  Array rows = reshape(arange(6.), {2, 3});
  Array both = vmap([&](const Array& t) { return push(dp, t); })(rows);
  expect_near(both, stack({push(dp, rows[0]), push(dp, rows[1])}));
  expect_near(jvp([&](const Array& t) { return push(dp, t); }, rows[0], rows[1]).second,
              push({array(0.), {}}, rows[1]));
  // Through the point of linearisation: a second derivative.
  auto slope = [](const Array& x) {
    auto [value, at_x] = linearize([](const Array& t) { return sin(t) * t; }, x);
    return at_x(array(1.));
  };
  expect_near(grad(slope)(array(0.4)), array(2. * std::cos(0.4) - 0.4 * std::sin(0.4)));
}

TEST(PullBack, IsCalledAgain) {
  Parameters p{array(0.9), array(5)};
  Array y0 = array({1., -2., 0.5});
  auto [y, pull] = vjp(&decay, p, y0);
  for (int i = 0; i < 3; ++i) {
    Array ct = sin(arange(3.) + static_cast<double>(i));
    auto loss = [&](const Parameters& q, const Array& z) { return sum(decay(q, z) * ct); };
    auto [want_p, want_y] = grad<0, 1>(loss)(p, y0);
    for (int again = 0; again < 2; ++again) {
      auto [dp, dy] = pull(ct);
      expect_near(dp, want_p);
      expect_near(dy, want_y);
      EXPECT_TRUE(dp.steps.is_empty());
    }
    auto compiled = jit([&](const Array& c) { return pull(c); })(ct);
    expect_near(std::get<1>(compiled), want_y);
  }
  // Two cotangents at once, and twice inside one program.
  Array cts = reshape(cos(arange(6.)), {2, 3});
  auto rows = vmap([&](const Array& c) { return std::get<1>(pull(c)); })(cts);
  expect_near(rows, stack({std::get<1>(pull(cts[0])), std::get<1>(pull(cts[1]))}));
  auto inside = jit([](const Parameters& q, const Array& z, const Array& c) {
    auto [value, back] = vjp(&decay, q, z);
    return std::get<1>(back(c)) + std::get<1>(back(2. * c));
  })(p, y0, cts[0]);
  expect_near(inside, 3. * std::get<1>(pull(cts[0])));
}

// What vjp and linearize return is a tree: its residuals are leaves.
TEST(PullBack, CrossesTransformations) {
  auto f = [](const Array& k, const Array& x) { return sin(k * x) * x; };
  Array k = array(0.7), x = array({1., -2., 0.5}), ct = array({0.3, 1., -1.});
  auto want = vjp(f, k, x).second(ct);
  // Out of a compiled function, into another one.
  auto make = jit([&](const Array& a, const Array& b) { return vjp(f, a, b).second; });
  auto pull = make(k, x);
  expect_near(pull(ct), want);
  auto use = jit([](const auto& p, const Array& c) { return p(c); });
  expect_near(use(pull, ct), want);
  auto other = make(2. * k, x);
  expect_near(use(other, ct), vjp(f, 2. * k, x).second(ct));
  EXPECT_EQ(use.trace_count(), 1);  // other residuals, the same program
  // Carried by a loop.
  using Pull = decltype(pull);
  struct State {
    Array i, c;
    Pull pull;
  };
  State end = while_loop([](const State& s) { return s.i < 2; },
                         [](const State& s) {
                           return State{s.i + 1, std::get<1>(s.pull(s.c)), s.pull};
                         },
                         State{array(0), ct, pull});
  expect_near(end.c, std::get<1>(pull(std::get<1>(pull(ct)))));
  // Made for each lane, used for each lane.
  Array ks = array({0.7, 1.4});
  auto pulls = vmap([&](const Array& a) { return vjp(f, a, x).second; })(ks);
  auto each = vmap([&](const Pull& p) { return p(ct); })(pulls);
  expect_near(std::get<0>(each), stack({std::get<0>(want), std::get<0>(vjp(f, ks[1], x).second(ct))}));
  EXPECT_THROW(pulls(ct), Error);
  auto push =
      jit([&](const Array& a) { return linearize([&](const Array& b) { return f(a, b); }, x).second; })(k);
  expect_near(push(ct), jvp([&](const Array& b) { return f(k, b); }, x, ct).second);
}

}  // namespace
}  // namespace apsis::testing
