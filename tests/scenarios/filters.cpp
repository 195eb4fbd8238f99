// Filters of time series: Kalman and its likelihood, smoothing as a parallel prefix, extended Kalman,
// particles, hidden Markov models. Values of the Nile series: reference/filters.py, from the whole covariance
// at once.

#include <cmath>

#include "scenarios/linear.hpp"
#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

Array nile() { return read_csv(data_file("nile.csv")).column("volume"); }

struct Level {  // a Gaussian belief
  Array mean, variance;
};
struct LocalLevel {  // y = a + e, a' = a + h
  Array log_eps, log_eta;
};

/// The log likelihood, and the filtered levels.
std::pair<Array, Level> kalman(const LocalLevel& model, const Array& ys) {
  Array eps = exp(model.log_eps), eta = exp(model.log_eta);
  auto step = [&](const std::pair<Level, Array>& carry, const Array& y) {
    const auto& [belief, total] = carry;
    Array f = belief.variance + eps, gain = belief.variance / f, surprise = y - belief.mean;
    Level now{belief.mean + gain * surprise, belief.variance * (1. - gain)};
    Array next = total - 0.5 * (log(2. * M_PI * f) + square(surprise) / f);
    return std::pair{std::pair{Level{now.mean, now.variance + eta}, next}, now};
  };
  auto [last, levels] = scan(step, std::pair{Level{1000., 250000.}, Array(0.)}, ys);
  return {last.second, levels};
}

TEST(Filters, KalmanLikelihoodOfTheNile) {
  Array ys = nile();
  auto loss = [&](const LocalLevel& m) { return kalman(m, ys).first; };
  LocalLevel at{9.6, 7.3};
  auto [value, slope] = jit(value_and_grad(loss))(at);
  EXPECT_NEAR(value.item<double>(), -639.7200491376738, 1e-9);  // a hundred terms of size ten in f64
  EXPECT_NEAR(slope.log_eps.item<double>(), 0.7817340152252896, 1e-9);
  EXPECT_NEAR(slope.log_eta.item<double>(), 0.10117909268960723, 1e-9);
  expect_close(jit(hessian(loss))(at).matrix(),
               array({{-37.15669878478434, -5.569381754523457}, {-5.569381754523432, -2.10228728051064}}),
               1e-9);
  auto best = jit([&](const LocalLevel& start) {
    return minimize([&](const LocalLevel& m) { return -loss(m); }, start);
  })(at);
  EXPECT_NEAR(best.value.log_eps.item<double>(), 9.622808270320737, 1e-6);  // gradient below 1e-8
  EXPECT_NEAR(best.value.log_eta.item<double>(), 7.2888662345688084, 1e-6);
  expect_all_ways(
      [&](const Array& p) {
        return loss({p[0], p[1]});
      },
      array({9.6, 7.3}), {.second = true, .lanes = {1, 9}});
}

TEST(Filters, SmoothingAsAnAssociativeScan) {
  // Särkkä and García-Fernández, Temporal parallelization of Bayesian smoothers, 2021.
  struct Backward {
    Array e, g, l;
  };
  Array ys = nile();
  auto smooth = [&](const LocalLevel& model) {
    Level filtered = kalman(model, ys).second;
    Array eta = exp(model.log_eta), last = arange(100) == 99;
    Array gain = where(last, 0., filtered.variance / (filtered.variance + eta));
    Backward parts{gain, filtered.mean - gain * filtered.mean, filtered.variance * (1. - gain)};
    auto combine = [](const Backward& later, const Backward& earlier) {
      return Backward{earlier.e * later.e, earlier.e * later.g + earlier.g,
                      square(earlier.e) * later.l + earlier.l};
    };
    return associative_scan(combine, parts, {.reverse = true}).g;
  };
  Array level = jit(smooth)(LocalLevel{9.6, 7.3});
  expect_close(take(level, array({0, 28, 50, 99}), 0),
               array({1110.037394042094, 950.4231948029046, 829.3536876917096, 797.2981563922222}), 1e-11);
  expect_all_ways([&](const Array& p) { return smooth({p[0], p[1]})[range(0, 100, 25)]; }, array({9.6, 7.3}));
}

struct Pose {
  Array x, y, heading;
};
Array vector_of(const Pose& p) { return stack({p.x, p.y, p.heading}); }

TEST(Filters, ExtendedKalmanOfARobot) {
  // Range and bearing to two beacons; with exact measurements and a wrong start, it finds the pose.
  struct Belief {
    Array mean, covariance;
  };
  auto move = [](const Array& s, const Array& u) {
    return stack({s[0] + u[0] * cos(s[2]), s[1] + u[0] * sin(s[2]), s[2] + u[1]});
  };
  auto sees = [](const Array& s) {
    Array dx = array({4., -2.}) - s[0], dy = array({3., 5.}) - s[1];
    return concatenate({sqrt(dx * dx + dy * dy), atan2(dy, dx) - s[2]});
  };
  auto controls = stack({full({60}, 0.1), 0.15 * cos(0.2 * arange(60.))}, 1);
  auto truth = scan(
                   [&](const Array& s, const Array& u) {
                     Array n = move(s, u);
                     return std::pair{n, n};
                   },
                   vector_of({0., 0., 0.3}), controls)
                   .second;
  Array seen = vmap(sees)(truth);
  auto run = [&](const Array& start) {
    auto step = [&](const Belief& b, const std::pair<Array, Array>& in) {
      const auto& [u, z] = in;
      auto driven = [&](const Array& s) { return move(s, u); };
      Array f = jacfwd(driven)(b.mean), m = driven(b.mean);
      Array p = matmul(f, matmul(b.covariance, transpose(f))) + 1e-8 * eye(3);
      Array h = jacrev(sees)(m);
      Array s = matmul(h, matmul(p, transpose(h))) + 1e-4 * eye(4);
      Array gain = transpose(vmap([&](const Array& column) { return solve_general(s, column); },
                                  {.in_axes = {1}, .out_axes = {1}})(matmul(h, p)));
      Array mean = m + matmul(gain, z - sees(m));
      return std::pair{Belief{mean, matmul(eye(3) - matmul(gain, h), p)}, mean};
    };
    return scan(step, Belief{start, eye(3)}, std::pair{controls, seen}).second;
  };
  Array start = array({-0.2, 0.3, 0.1});
  Array path = jit(run)(start);
  // With a standard deviation of 1e-2 per measurement it is told 60 times: a tenth of that is left.
  expect_close(path[-1], truth[-1], 5e-3);
  expect_all_ways([&](const Array& s) { return run(s)[5]; }, start,
                  {.differences = 1e-4, .step = 1e-5, .direct = false});
}

TEST(Filters, ParticlesAgainstKalman) {
  Array ys = nile()[range(0, 40)];
  LocalLevel model{9.6, 7.3};
  const std::int64_t n = 4000;
  auto estimate = [&](const Array& key) {
    auto [first, rest] = random::split<2>(key);
    Array particles = 1000. + 500. * random::normal(first, {n});
    auto step = [&](const std::pair<Array, Array>& carry, const std::pair<Array, Array>& in) {
      const auto& [x, k] = carry;
      const auto& [y, t] = in;
      auto [choose, shake] = random::split<2>(random::fold_in(k, t));
      Array logw = -0.5 * (log(2. * M_PI) + model.log_eps + square(y - x) / exp(model.log_eps));
      Array total = logsumexp(logw) - std::log(double(n));
      // Systematic resampling.
      Array edges = cumsum(nn::softmax(logw));
      Array points = (arange(double(n)) + random::uniform(choose)) / double(n);
      Array chosen = take(x, searchsorted(edges, points), 0);
      return std::pair{std::pair{chosen + exp(0.5 * model.log_eta) * random::normal(shake, {n}), k}, total};
    };
    return sum(scan(step, std::pair{particles, rest}, std::pair{ys, arange(40)}).second);
  };
  double exact = kalman(model, ys).first.item<double>();
  Array several = jit(vmap(estimate))(random::split(random::key(7), 8));
  // The deviation of one estimate is about 0.12 (that of eight, measured); four times that of their mean.
  EXPECT_NEAR(mean(several).item<double>(), exact, 0.2);
  EXPECT_LT(std_(several).item<double>(), 0.4);
  for (int i : {0, 5})
    EXPECT_EQ(several[i].item<double>(), jit(estimate)(random::split(random::key(7), 8)[i]).item<double>());
  EXPECT_NEAR(estimate(random::split(random::key(7), 8)[3]).item<double>(), several[3].item<double>(), 1e-8);
}

TEST(Filters, HiddenMarkovForwardAndViterbi) {
  // Against all 3^7 paths.
  const double a[3][3] = {{0.7, 0.2, 0.1}, {0.3, 0.5, 0.2}, {0.2, 0.3, 0.5}};
  const double b[3][4] = {{0.1, 0.4, 0.4, 0.1}, {0.5, 0.2, 0.1, 0.2}, {0.1, 0.1, 0.2, 0.6}};
  const int seen[7] = {0, 3, 3, 1, 2, 0, 3};
  double total = 0, best = 0;
  int best_path[7] = {};
  for (int code = 0; code < 2187; ++code) {
    int path[7], rest = code;
    for (int t = 6; t >= 0; --t) path[t] = rest % 3, rest /= 3;
    double p = 1. / 3;
    for (int t = 0; t < 7; ++t) p *= (t ? a[path[t - 1]][path[t]] : 1) * b[path[t]][seen[t]];
    total += p;
    if (p > best) best = p, std::copy(path, path + 7, best_path);
  }
  Array loga = log(array(std::vector<double>(&a[0][0], &a[0][0] + 9), {3, 3}));
  Array logb = log(array(std::vector<double>(&b[0][0], &b[0][0] + 12), {3, 4}));
  Array observed = array(std::vector<int>(seen, seen + 7));
  auto forward = [&](const Array& emissions) {
    auto step = [&](const Array& alpha, const Array& o) {
      Array next = logsumexp(expand_dims(alpha, 1) + loga, {.axis = 0}) + emissions(range(), o);
      return std::pair{next, Nothing{}};
    };
    return logsumexp(
        scan(step, std::log(1. / 3) + emissions(range(), observed[0]), observed[range(1, {})]).first);
  };
  EXPECT_NEAR(jit(forward)(logb).item<double>(), std::log(total), 1e-13);
  // The gradient by an emission's logarithm counts its expected uses: they add up to the number of steps.
  EXPECT_NEAR(sum(jit(grad(forward))(logb)).item<double>(), 7, 1e-12);
  auto viterbi = [&](const Array& emissions) {
    auto step = [&](const Array& delta, const Array& o) {
      Array all = expand_dims(delta, 1) + loga;
      return std::pair{max(all, {.axis = 0}) + emissions(range(), o), argmax(all, {.axis = 0})};
    };
    auto [end, from] = scan(step, std::log(1. / 3) + emissions(range(), observed[0]), observed[range(1, {})]);
    Array last = argmax(end);
    auto back = [](const Array& state, const Array& origins) {
      Array before = origins[state];
      return std::pair{before, before};
    };
    Array path = scan(back, last, from, {.reverse = true}).second;
    return std::pair{max(end), concatenate({path, expand_dims(last, 0)})};
  };
  auto [score, path] = jit(viterbi)(logb);
  EXPECT_NEAR(score.item<double>(), std::log(best), 1e-13);
  EXPECT_EQ(path.to_vector<int>(), std::vector<int>(best_path, best_path + 7));
  expect_all_ways([&](const Array& e) { return forward(reshape(e, {3, 4})); }, ravel(logb), {.second = true});
  expect_all_ways([&](const Array& e) { return viterbi(reshape(e, {3, 4})).first; }, ravel(logb));
}

TEST(Filters, Misuses) {
  Array ys = nile();
  expect_misuse(
      "carry.second is ~f64[] on entry and f64[1] on return",
      [&] {
        auto step = [&](const std::pair<Array, Array>& c, const Array& y) {
          return std::pair{std::pair{c.first, c.second + expand_dims(y, 0)}, Nothing{}};
        };
        scan(step, std::pair{Array(0.), Array(0.)}, ys);
      },
      8);
  expect_misuse("xs.first is 100, xs.second is 99", [&] {
    scan(
        [](const Array& c, const std::pair<Array, Array>& x) {
          return std::pair{c + x.first, x.second};
        },
        0., std::pair{ys, ys[range(1, {})]});
  });
  expect_misuse("indices must be integers, got f64[]", [&] { ys[array(2.)]; });
  expect_misuse("a key is an array u32[2], got u32[5,2]",
                [&] { random::normal(random::split(random::key(1), 5), {3}); });
  expect_misuse("f must return what it got",
                [&] { associative_scan([](const Array& a, const Array& b) { return sum(a + b); }, ys); });
}

}  // namespace
}  // namespace apsis::scenarios
