// Running statistics: those of all observations at once, in any parts, compiled, in lanes, differentiated; P²
// against the paper.

#include <cmath>
#include <limits>

#include <apsis/apsis.hpp>

#include "golden/arrays.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::to_array;
using stats::running_covariance;
using stats::running_moments;
using stats::running_quantile;
using stats::RunningCovariance;
using stats::RunningMoments;
using stats::RunningQuantile;

const Array observations = 1e6 + random::normal(random::key(0), {40, 3});

/// Each observation by itself, in one compiled loop.
template <class Statistics>
Statistics one_by_one(const Statistics& start, const Array& xs) {
  return jit([](const Statistics& s, const Array& rows) {
    return fori_loop(
        0, rows.dim(0), [&](const Array& i, const Statistics& t) { return t.add(rows[i]); }, s);
  })(start, xs);
}

TEST(RunningMoments, AreThoseOfAll) {
  const RunningMoments start = running_moments({3});
  const RunningMoments parts[] = {
      one_by_one(start, observations),
      start.add_rows(observations),
      start.add_rows(observations[range(0, 7)]).add_rows(observations[range(7, {})]),
      one_by_one(start, observations[range(0, 29)]).merge(start.add_rows(observations[range(29, {})])),
      start.merge(start.add_rows(observations)),
      start.add_rows(observations).add_rows(zeros({0, 3}))};
  // Deviations of 1 from means of 1e6 are known to 1e-10; 40 of them.
  for (const RunningMoments& m : parts) {
    EXPECT_EQ(m.count.item<std::int64_t>(), 40);
    expect_near(m.mean, mean(observations, {.axis = 0}), 1e-14);
    expect_near(m.variance(1), var(observations, {.axis = 0, .ddof = 1}), 1e-8);
    expect_near(m.standard_error(), std_(observations, {.axis = 0, .ddof = 1}) / std::sqrt(40.), 1e-8);
  }
  EXPECT_TRUE(std::isnan(running_moments().variance().item<double>()));
  EXPECT_TRUE(std::isnan(running_moments().add(3.).variance(1).item<double>()));
  EXPECT_EQ(running_moments().add(3.).variance().item<double>(), 0);
}

TEST(RunningCovariance, IsThatOfAll) {
  const RunningCovariance start = running_covariance(3);
  const RunningCovariance parts[] = {
      one_by_one(start, observations), start.add_rows(observations),
      start.add_rows(observations[range(0, 11)]).merge(start.add_rows(observations[range(11, {})]))};
  for (const RunningCovariance& c : parts) {
    expect_near(c.mean, mean(observations, {.axis = 0}), 1e-14);
    expect_near(c.covariance(), cov(observations, {.rows = false}), 1e-8);
  }
}

TEST(RunningQuantile, MovesItsMarkersAsThePaper) {
  int cases = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/running.txt")) {
    SCOPED_TRACE(c.name);
    const Array x = to_array(c["x"]);
    const RunningQuantile start = running_quantile(c["p"].real[0]);
    const auto [end, all] = jit([&](const Array& xs) {
      return scan(
          [](const RunningQuantile& s, const Array& v) {
            const RunningQuantile next = s.add(v);
            return std::pair(next, next);
          },
          start, xs);
    })(x);
    // The same formulas, rounded in another order, up to 200 times.
    golden::expect_same(all.heights[range(4, {})], c["heights"], 1e-12, "heights");
    golden::expect_same(astype(all.positions[range(4, {})], i64), c["positions"], 0, "positions");
    EXPECT_EQ(end.value().item<double>(), all.heights[-1][2].item<double>());
    expect_same_bits(start.add_rows(x), one_by_one(start, x));
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

TEST(RunningQuantile, OfFewObservationsIsExact) {
  const Array x = array({3., -1., 4., 1., 5.});
  for (const double p : {0., 0.3, 0.5, 1.}) {
    RunningQuantile s = running_quantile(p);
    EXPECT_TRUE(std::isnan(s.value().item<double>()));
    for (int n = 1; n <= 5; ++n) {
      s = s.add(x[n - 1]);
      EXPECT_NEAR(s.value().item<double>(), quantile(x[range(0, n)], p).item<double>(), 1e-15);
    }
  }
}

TEST(RunningQuantile, OfManyObservationsIsNear) {
  // The error of a quantile of n observations is sqrt(p (1 - p) / n) / density; P² may double it.
  const std::int64_t n = 20000;
  const Array x = random::normal(random::key(7), {n, 2, 2}, f32);
  const auto run = [&](const Array& p) { return running_quantile(p, {2, 2}, f32).add_rows(x).value(); };
  const double ps[] = {0.05, 0.5, 0.9};
  const Array got = jit(vmap(run))(array({0.05, 0.5, 0.9}));
  for (int i = 0; i < 3; ++i) {
    const double want = stats::norm::ppf(ps[i]).item<double>();
    const double error = std::sqrt(ps[i] * (1 - ps[i]) / n) / stats::norm::pdf(want).item<double>();
    EXPECT_LT(max(abs(got[i] - want)).item<double>(), 10 * error) << ps[i];
  }
}

TEST(RunningQuantile, NaNStays) {
  const double nan_value = std::numeric_limits<double>::quiet_NaN();
  const Array x = arange(0., 9.);
  for (const int at : {0, 3, 4, 5, 8})
    EXPECT_TRUE(std::isnan(running_quantile(0.5).add_rows(x.at(at).set(nan_value)).value().item<double>()))
        << at;
  EXPECT_TRUE(std::isnan(running_quantile(1.5).add_rows(x).value().item<double>()));
}

TEST(Running, StatisticsAreDifferentiated) {
  const Array x = array({0.3, -1.2, 2.2, 0.9, -0.4, 1.7, 0.1, 0.6});
  const auto f = [](const Array& v) {
    const RunningMoments m = running_moments().add_rows(v).add(2. * v[0]);
    const Array pairs = stack({v, square(v)}, 1);
    return m.mean + m.variance() + sum(running_covariance(2).add_rows(pairs).covariance()) +
           running_quantile(0.5).add_rows(v).value();
  };
  assert_numerical_gradients(f, std::tuple{x}, {.order = 1});
}

TEST(Running, LanesAreCalls) {
  const auto f = [](const Array& v) {
    return std::pair(running_moments().add_rows(v).variance(), running_quantile(0.25).add_rows(v).value());
  };
  const auto [variances, quantiles] = jit(vmap(f))(transpose(observations));
  for (int i = 0; i < 3; ++i) {
    const auto [variance, quantile] = jit(f)(observations(range(), i));
    EXPECT_EQ(variances[i].item<double>(), variance.item<double>());
    EXPECT_EQ(quantiles[i].item<double>(), quantile.item<double>());
  }
}

}  // namespace
}  // namespace apsis::testing
