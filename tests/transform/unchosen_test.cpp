// What was not chosen has no derivative, however infinite it is.

#include <limits>
#include <regex>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// In eager code, compiled, under vmap and through forward mode over reverse mode.
template <class F>
void expect_gradient(const F& f, const Array& x, const Array& want) {
  expect_near(grad(f)(x), want);
  expect_near(jit(grad(f))(x), want);
  const Array twice = stack({x, x});
  expect_near(jit(vmap(grad(f)))(twice), stack({want, want}));
  const Array along = ones_like(x);
  auto second = [&](const Array& v) { return jvp(grad(f), std::tuple{v}, std::tuple{along}).second; };
  const Array curvature = jit(second)(x);
  EXPECT_TRUE(all(isfinite(curvature)).template item<bool>());
}

TEST(Unchosen, InfiniteFactors) {
  const Array x = array({-1., 0., 4.});
  expect_gradient([](const Array& v) { return sum(where(v > 0., sqrt(v), 0.)); }, x, array({0., 0., 0.25}));
  expect_gradient([](const Array& v) { return sum(where(v > 0., log(v), v)); }, x, array({1., 1., 0.25}));
  expect_gradient([](const Array& v) { return sum(where(v == 0., 1., sin(v) / v)); }, array({0.}),
                  array({0.}));
  expect_gradient([](const Array& v) { return sum(where(v > 0., 1. / sqrt(v) + v, exp(v) * 2.)); }, x,
                  array({2. * std::exp(-1.), 2., 1. - 1. / 16.}));
}

TEST(Unchosen, ChoicesWithinChoices) {
  auto f = [](const Array& v) {
    const Array inner = where(v > 0., log(v), v * v);
    return sum(where(v < 2., inner * inner, inner / (v - v)));
  };
  expect_gradient(f, array({1.5, -3.}), array({2. * std::log(1.5) / 1.5, 4. * -27.}));
  // Both sides of one choice, and of its opposite.
  auto g = [](const Array& v) {
    const Array positive = v > 0.;
    return sum(where(positive, sqrt(v), 0.) + where(positive, 0., sqrt(-v)) + v);
  };
  expect_gradient(g, array({4., -4.}), array({1.25, 0.75}));
}

TEST(Unchosen, OneChoiceForAWholeComputation) {
  const Array matrix = array({{1., inf}, {2., 3.}}), finite = array({{1., 0.}, {2., 3.}});
  auto f = [&](const Array& m) {
    return [=](const Array& v) {
      const Array far = dot(m, tanh(dot(m, v))) * v[0];  // NaN where m is infinite
      return sum(where(all(isfinite(m)), far, v * v) + v);
    };
  };
  const Array x = array({0.5, -2.});
  expect_gradient(f(matrix), x, 2. * x + 1.);
  const Array want =
      grad([&](const Array& v) { return sum(dot(finite, tanh(dot(finite, v))) * v[0] + v); })(x);
  expect_gradient(f(finite), x, want);
  // Traced, and the matrix differentiated too.
  auto both = [&](const Array& m, const Array& v) { return f(m)(v); };
  expect_near(jit(grad(both))(matrix, x), zeros({2, 2}));
  expect_near(jit(grad<1>(both))(matrix, x), 2. * x + 1.);
}

TEST(Unchosen, LargeMatrices) {
  const Array weights = full({24, 24}, inf), x = linspace(-1., 1., 24);
  auto loss = [](const Array& w, const Array& v, const Array& usable) {
    const Array hidden = tanh(dot(w, v));
    return sum(where(usable, dot(w, hidden), v));
  };
  expect_near(jit(grad(loss))(weights, x, array(false)), zeros({24, 24}));
  expect_near(jit(grad<1>(loss))(weights, x, array(false)), ones({24}));
  const Array good = reshape(linspace(-0.1, 0.1, 576), {24, 24});
  auto plain = [](const Array& w, const Array& v) { return sum(dot(w, tanh(dot(w, v)))); };
  expect_near(jit(grad(loss))(good, x, array(true)), grad(plain)(good, x));
}

TEST(Unchosen, LoopsAndBranches) {
  auto blow_up = [](const Array& v) {
    return fori_loop(
        0, 12, [](const Array&, const Array& y) { return y * y; }, v);
  };
  auto f = [&](const Array& v) { return sum(where(abs(v) < 1., v, blow_up(v)(newaxis)[0])) + v; };
  auto kept = [&](const Array& v) { return where(abs(v) < 10., v * 3., blow_up(v)); };
  expect_gradient(kept, array(5.), array(3.));
  expect_gradient([&](const Array& v) { return sum(f(v)); }, array(0.5), array(2.));
  auto branch = [](const Array& v) {
    const Array far = cond(
        v > 0., [](const Array& y) { return exp(exp(y)); }, [](const Array& y) { return y; }, v);
    return where(v > 7., v, far);
  };
  expect_gradient(branch, array(800.), array(1.));
}

}  // namespace
}  // namespace apsis::testing
