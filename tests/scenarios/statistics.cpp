// Statistics on real data: mixtures, clusters, components, Gaussian processes, autoregressions. Values:
// reference/learning.py.

#include <array>
#include <cmath>

#include "scenarios/linear.hpp"
#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

Array iris() {  // standardised
  Array x = read_csv(data_file("iris.csv")).values(range(), range(0, 4));
  return (x - mean(x, {.axis = 0})) / std_(x, {.axis = 0});
}

TEST(Statistics, MixtureByExpectationMaximisation) {
  struct Mixture {
    Array weight, mean, variance;
  };
  // Two well separated lumps: estimates are those of the lumps, but for what they overlap.
  auto [a, b] = random::split<2>(random::key(8));
  Array left = random::normal(a, {300}), right = 12. + 2. * random::normal(b, {200}),
        x = concatenate({left, right});
  auto log_parts = [&](const Mixture& m) {
    Array d = expand_dims(x, 1) - m.mean;
    return log(m.weight) - 0.5 * (log(2 * M_PI * m.variance) + d * d / m.variance);
  };
  auto likelihood = [&](const Mixture& m) { return sum(logsumexp(log_parts(m), {.axis = 1})); };
  struct Search {
    Mixture now;
    Array value, gain, steps;
  };
  auto em = [&](const Mixture& start) {
    auto step = [&](const Search& s) {
      Array r = nn::softmax(log_parts(s.now)), n = sum(r, {.axis = 0});
      Array centre = matmul(x, r) / n, spread = sum(r * square(expand_dims(x, 1) - centre), {.axis = 0}) / n;
      Mixture next{n / 500., centre, spread};
      Array value = likelihood(next);
      return Search{next, value, value - s.value, s.steps + 1};
    };
    return while_loop([](const Search& s) { return s.gain > 1e-10; }, step,
                      Search{start, likelihood(start), 1., 0}, {.max_steps = 1000});
  };
  Mixture start{full({2}, 0.5), array({1., 8.}), array({4., 4.})};
  Search end = jit(em)(start);
  expect_close(end.now.weight, array({0.6, 0.4}), 1e-3);
  expect_close(end.now.mean, stack({mean(left), mean(right)}), 1e-3);
  expect_close(end.now.variance, stack({var(left), var(right)}), 1e-2);
  // At the end the likelihood is stationary.
  Mixture slope = jit(grad(likelihood))(end.now);
  expect_close(slope.mean, zeros({2}), 1e-3);
  expect_close(slope.variance, zeros({2}), 1e-3);
  auto iterate = [&](const Array& p) {
    return em({stack({p[0], 1. - p[0]}), p[range(1, 3)], exp(p[range(3, 5)])}).now.mean;
  };
  expect_all_ways(iterate, array({0.5, 1., 8., 1.4, 1.4}),
                  {.eager = 1e-6, .differences = 0, .forward = false, .reverse = false, .direct = false});
}

TEST(Statistics, ClustersByMeans) {
  Array data = iris();
  auto cluster = [&](const Array& start) {
    auto nearest = [&](const Array& c) {
      return argmin(sum(square(expand_dims(data, 1) - c), {.axis = 2}), {.axis = 1});
    };
    struct Search {
      Array centres, moved;
    };
    auto step = [&](const Search& s) {
      Array in = astype(expand_dims(nearest(s.centres), 1) == arange(3), f64);
      Array next = matmul(transpose(in), data) / expand_dims(sum(in, {.axis = 0}), 1);
      return Search{next, max(abs(next - s.centres))};
    };
    Search end = while_loop([](const Search& s) { return s.moved > 0.; }, step, Search{start, INFINITY},
                            {.max_steps = 100});
    return std::pair{nearest(end.centres),
                     sum(min(sum(square(expand_dims(data, 1) - end.centres), {.axis = 2}), {.axis = 1}))};
  };
  auto [labels, inertia] = jit(cluster)(take(data, array({0, 60, 120}), 0));
  EXPECT_NEAR(inertia.item<double>(), 140.90153181202442, 1e-10);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(sum(labels == k).item<int>(), (std::array{49, 46, 55})[k]);
  Array starts = stack({take(data, array({0, 60, 120}), 0), take(data, array({0, 1, 2}), 0),
                        take(data, array({5, 100, 140}), 0)});
  auto [many, inertias] = jit(vmap(cluster))(starts);
  EXPECT_EQ(inertias[0].item<double>(), inertia.item<double>());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(tree_equal(jit(cluster)(starts[i]).first, many[i]));
}

TEST(Statistics, ComponentsByPowerIteration) {
  Array x = read_csv(data_file("iris.csv")).values(range(), range(0, 4));
  x = x - mean(x, {.axis = 0});
  auto variances = [](const Array& data) {
    Array c = matmul(transpose(data), data) / double(data.dim(0) - 1);
    struct Power {
      Array v, value, change;
    };
    auto next = [&](const Array& m, const Array&) {
      auto step = [&](const Power& p) {
        Array w = dot(m, p.v), l = norm(w);
        return Power{w / l, l, abs(l - p.value)};
      };
      Power p = while_loop([](const Power& s) { return s.change > 1e-15; }, step,
                           Power{array({0.6, 0.5, 0.4, 0.48}), 0., 1.}, {.max_steps = 2000});
      return std::pair{m - p.value * outer(p.v, p.v), p.value};
    };
    return scan(next, c, arange(4)).second;
  };
  expect_close(jit(variances)(x),
               array({4.228241706034864, 0.24267074792863344, 0.07820950004291942, 0.023835092973449434}),
               1e-13);
  Array few = x[range(0, 150, 12)];
  expect_all_ways(
      [&](const Array& p) {
        return variances(reshape(p, {13, 4}));
      },
      ravel(few), {.modes = 1e-5, .differences = 1e-4, .lanes = {3}});
}

TEST(Statistics, GaussianProcess) {
  Table nile = read_csv(data_file("nile.csv"));
  Array t = nile.column("year") - 1871., f = (nile.column("volume") - 900.) / 150.;
  struct Kernel {
    Array amplitude, length, noise;  // logarithms
  };
  auto between = [](const Kernel& k, const Array& a, const Array& b) {
    Array d = (expand_dims(a, 1) - b) / exp(k.length);
    return exp(2. * k.amplitude) * exp(-0.5 * d * d);
  };
  auto likelihood = [&](const Kernel& k, const Array& at, const Array& y) {
    const double n = double(at.size());
    Array l = cholesky(between(k, at, at) + exp(2. * k.noise) * eye(at.size())), a = solve_lower(l, y);
    return -0.5 * (dot(a, a) + 2. * sum(log(diag(l))) + n * std::log(2 * M_PI));
  };
  Kernel k{0., 2., -0.2};
  auto [value, slope] = jit(value_and_grad(likelihood))(k, t, f);
  EXPECT_NEAR(value.item<double>(), -139.5990455849412, 1e-9);
  EXPECT_NEAR(slope.amplitude.item<double>(), -3.097554442919185, 1e-7);  // theirs are differences
  EXPECT_NEAR(slope.length.item<double>(), -3.04469193741852, 1e-7);
  EXPECT_NEAR(slope.noise.item<double>(), 9.97197295017808, 1e-7);
  auto predict = jit([&](const Kernel& kernel, const Array& at) {
    Array l = cholesky(between(kernel, t, t) + exp(2. * kernel.noise) * eye(100)),
          cross = between(kernel, at, t);
    Array w = vmap([&](const Array& row) { return solve_lower(l, row); })(cross);
    return std::pair{matmul(cross, solve_upper(l, solve_lower(l, f))),
                     exp(2. * kernel.amplitude) - sum(w * w, {.axis = 1})};
  });
  auto [mean_at, variance] = predict(k, array({-5., 50.5, 105.}));
  expect_close(mean_at, array({0.6723893830241365, -0.47553720331893556, -0.8327283972718231}), 1e-11);
  expect_close(variance, array({0.5254367155157008, 0.07112461136270887, 0.6122153006111188}), 1e-11);
  expect_all_ways(
      [&](const Array& p) {
        return likelihood({p[0], p[1], p[2]}, t[range(0, 12)], f[range(0, 12)]);
      },
      array({0., 2., -0.2}), {.second = true, .lanes = {1, 6}});
}

TEST(Statistics, AutoregressionAndPeriodogramOfSunspots) {
  Array s = read_csv(data_file("sunspots_yearly.csv")).values(range(), 1), m = s - mean(s);
  auto fit = [](const Array& x) {
    const std::int64_t n = x.size();
    std::vector<Array> lags;
    for (int k = 1; k <= 9; ++k) lags.push_back(x[range(9 - k, n - k)]);
    Array a = stack(lags, 1), y = x[range(9, {})];
    Array c = solve_positive(matmul(transpose(a), a), matmul(transpose(a), y));
    return std::pair{c, mean(square(y - matmul(a, c)))};
  };
  auto [c, sigma2] = jit(fit)(m);
  expect_close(c,
               array({1.1653552284975266, -0.4054458028493858, -0.16662516332280028, 0.14996448246805433,
                      -0.09457224859303673, 0.004989685143079243, 0.05047209179506532, -0.08605520960551992,
                      0.2531758856230034}),
               1e-10);
  EXPECT_NEAR(sigma2.item<double>(), 221.32305081427702, 1e-8);
  auto power = jit([](const Array& x) {
    auto at = [&](const Array& k) {
      Array angle = -2 * M_PI / double(x.size()) * k * arange(double(x.size()));
      return square(sum(x * cos(angle))) + square(sum(x * sin(angle)));
    };
    return vmap(at)(arange(155.));
  })(m);
  EXPECT_EQ(argmax(power).item<int>(), 28);  // 309 years by 28: eleven
  EXPECT_NEAR(max(power).item<double>() / 20859494.553495962, 1, 1e-12);
}

}  // namespace
}  // namespace apsis::scenarios
