// Curves of interest and portfolios: bootstrapping, a parametric fit, optimisation on a simplex. Known
// answers are closed forms.

#include <algorithm>
#include <cmath>

#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

TEST(Curves, CurveByNewton) {
  // Par rates of swaps with yearly payments, made from a known curve.
  std::vector<double> zero = {0.02, 0.023, 0.025, 0.027, 0.0285, 0.03}, discounts, rates;
  double annuity = 0;
  for (int i = 0; i < 6; ++i) {
    discounts.push_back(std::exp(-zero[i] * (i + 1)));
    annuity += discounts.back();
    rates.push_back((1 - discounts.back()) / annuity);
  }
  struct Curve {
    Array discounts, annuity;
  };
  auto bootstrap = [&](const Array& par) {
    auto next = [&](const Array& i, const Curve& c) {
      Array rate = par[i];
      auto mispriced = [&](const Array& z) {
        Array d = exp(-z * (astype(i, f64) + 1.));
        return rate * (c.annuity + d) + d - 1.;
      };
      Array z = while_loop([&](const Array& x) { return abs(mispriced(x)) > 1e-15; },
                           [&](const Array& x) { return x - mispriced(x) / grad(mispriced)(x); }, rate,
                           {.max_steps = 30});
      Array d = exp(-z * (astype(i, f64) + 1.));
      return Curve{c.discounts.at(i).set(d), c.annuity + d};
    };
    return fori_loop(0, 6, next, Curve{zeros({6}), 0.}).discounts;
  };
  expect_close(jit(bootstrap)(array(rates)), array(discounts), 1e-14);
  expect_all_ways(bootstrap, array(rates));
}

TEST(Curves, NelsonSiegelFit) {
  struct Curve {
    Array level, slope, hump, decay;
  };
  auto yield = [](const Curve& c, const Array& t) {
    Array x = t / c.decay, f = -expm1(-x) / x;
    return c.level + c.slope * f + c.hump * (f - exp(-x));
  };
  Array times = array({0.25, 0.5, 1., 2., 3., 5., 7., 10., 20., 30.});
  Curve truth{4.5, -2., 1.5, 1.8};
  Array seen = yield(truth, times);
  auto fit = [&](const Curve& start) {
    return minimize([&](const Curve& c) { return sum(square(yield(c, times) - seen)); }, BFGS{.gtol = 1e-12},
                    start);
  };
  auto found = jit(fit)({4., -1., 1., 1.5});
  // The sum of squares is flat to the square root of eps.
  EXPECT_NEAR(found.value.level.item<double>(), 4.5, 1e-6);
  EXPECT_NEAR(found.value.slope.item<double>(), -2, 1e-6);
  EXPECT_NEAR(found.value.hump.item<double>(), 1.5, 1e-6);
  EXPECT_NEAR(found.value.decay.item<double>(), 1.8, 1e-6);
  // Many curves at once.
  auto many = jit(vmap(fit))(
      Curve{array({4., 4.2, 5.}), array({-1., -1., -2.}), array({1., 1., 1.}), array({1.5, 2., 3.})});
  expect_close(many.value.decay, full({3}, 1.8), 1e-6);
  expect_all_ways(
      [&](const Array& p) {
        return yield({p[0], p[1], p[2], p[3]}, times);
      },
      array({3., 1., 1., 2.}));
}

TEST(Curves, PortfolioByProjectedGradient) {
  auto onto_simplex = [](const Array& v) {  // Duchi et al. 2008
    Array u = flip(sort(v)), rank = arange(1., v.size() + 1.), excess = (cumsum(u) - 1.) / rank;
    Array count = sum(u > excess);
    return maximum(v - excess[count - 1], 0.);
  };
  Array cov = array({{0.04, 0.006, 0.01}, {0.006, 0.09, 0.012}, {0.01, 0.012, 0.0625}});
  auto solve = [&](const Array& gain) {
    auto risk = [&](const Array& w) { return 0.5 * dot(w, dot(cov, w)) - dot(gain, w); };
    return fori_loop(
        0, 300, [&](const Array&, const Array& w) { return onto_simplex(w - 5. * grad(risk)(w)); },
        full({3}, 1. / 3));
  };
  // Minimum variance: proportional to the rows' sums of the inverse, all positive here.
  const double a = 0.04, b = 0.006, c = 0.01, d = 0.09, e = 0.012, f = 0.0625;
  std::vector<double> w = {d * f - e * e - (b * f - c * e) + (b * e - c * d),
                           a * f - c * c - (b * f - c * e) - (a * e - b * c),
                           a * d - b * b + (b * e - c * d) - (a * e - b * c)};
  expect_close(jit(solve)(zeros({3})), array(w) / (w[0] + w[1] + w[2]), 1e-12);
  // With a hopeless third asset that one goes, and two are left.
  Array two = jit(solve)(array({0., 0., -1.}));
  expect_close(two, array({(d - b) / (a + d - 2 * b), (a - b) / (a + d - 2 * b), 0.}), 1e-12);
  expect_all_ways(solve, array({0.01, 0.02, 0.}));
}

}  // namespace
}  // namespace apsis::scenarios
