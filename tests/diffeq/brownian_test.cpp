// Brownian paths: what they remember changes nothing, parts add up to the whole, and their laws.

#include <cmath>

#include "apsis/apsis.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

constexpr LevyArea areas[] = {LevyArea::None, LevyArea::SpaceTime, LevyArea::SpaceTimeTime};

std::vector<Array> leaves_of(const BrownianIncrement<Array>& x) {
  std::vector<Array> leaves;
  detail::collect_leaves(std::tuple{x.w, x.h, x.k}, leaves);
  return leaves;
}
bool same_bits(const Array& a, const Array& b) { return all(a == b).item<bool>(); }

using Leaves = std::vector<Array>;
Array joined(const Leaves& leaves) { return stack(leaves); }

/// The increments over intervals [n, 2], one after the other with memory, or each alone.
Array in_order(const VirtualBrownianTree<Array>& path, const Array& intervals) {
  const auto one = [&](const Leaves& before, const Array& t) {
    Leaves memory = before, all;
    const detail::FlatIncrement f = path.flat_increment(t[0], t[1], memory);
    for (const auto* part : {&f.w, &f.h, &f.k}) all.insert(all.end(), part->begin(), part->end());
    return std::pair{memory, joined(all)};
  };
  return scan(one, path.start_memory(), intervals).second;
}
Array alone(const VirtualBrownianTree<Array>& path, const Array& intervals) {
  return vmap([&](const Array& t) { return joined(leaves_of(path.increment(t[0], t[1]))); })(intervals);
}

// Intervals in order, back, one twice, and within each other, as solves ask for them.
TEST(Brownian, MemoryChangesNothing) {
  const Array intervals = reshape(array({0., 0.1, 0.1, 0.25,   0.1, 0.175, 0.175, 0.25,  0.25, 1.,
                                         1., 0.3, 0.3, 0.3001, 0.9, 0.2,   0.,    0.001, 0.5,  0.5 + 1e-9}),
                                  {10, 2});
  for (const LevyArea area : areas) {
    const auto path = [&](const Array& seed) {
      return VirtualBrownianTree(0., 1., 1e-4, {2}, random::key(seed), {.levy_area = area});
    };
    const auto remembering = [&](const Array& seed) { return in_order(path(seed), intervals); };
    const auto forgetting = [&](const Array& seed) { return alone(path(seed), intervals); };
    const Array seeds = arange(3), expected = jit(vmap(forgetting))(seeds);
    EXPECT_TRUE(same_bits(jit(vmap(remembering))(seeds), expected));
    EXPECT_TRUE(same_bits(jit(remembering)(seeds[1]), expected[1]));
  }
}

/// Random times from 0 to `end`, with both.
Array cuts(std::int64_t seed, std::int64_t count, double end) {
  const Array inner = end * random::uniform(random::key(seed), {count});
  return sort(concatenate({array({0.}), inner, array({end})}));
}

TEST(Brownian, PartsAddUpToTheWhole) {
  for (const Dtype dtype : {Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16}) {
    const auto path = [&](const Array& end) {
      return VirtualBrownianTree(0., end, end / 1000, {4}, random::key(3), {.dtype = dtype});
    };
    const auto total = jit([&](const Array& ts) {
      const auto w = path(ts[-1]);
      const auto part = [&](const Array& a, const Array& b) { return w.evaluate(a, b); };
      return sum(vmap(part)(ts[range({}, -1)], ts[range(1, {})]), {.axis = 0, .dtype = dtype});
    });
    for (const double end : {1., 3., 0.07})
      EXPECT_TRUE(same_bits(total(cuts(8, 40, end)), total(array({0., end})))) << end;
  }
}

/// H and K of an interval from those of its two parts (Chen's relation).
TEST(Brownian, AreasOfPartsGiveThoseOfTheWhole) {
  const VirtualBrownianTree path(0., 2., 1e-3, Shape{}, random::key(5),
                                 {.levy_area = LevyArea::SpaceTimeTime});
  const auto parts = cuts(9, 10, 2.);
  for (std::int64_t i = 0; i + 2 < parts.size(); ++i) {
    const auto a = path.increment(parts[i], parts[i + 1]), b = path.increment(parts[i + 1], parts[i + 2]),
               both = path.increment(parts[i], parts[i + 2]);
    const Array h = both.dt, bridge = b.dt * a.w - a.dt * b.w;
    // Differences of numbers near 1, divided by the length.
    EXPECT_NEAR((h * both.h).item<double>(), (a.dt * a.h + b.dt * b.h + 0.5 * bridge).item<double>(), 1e-13);
    const Array k = a.dt * a.dt * a.k + b.dt * b.dt * b.k + 0.5 * (b.dt * a.dt * a.h - a.dt * b.dt * b.h) +
                    (b.dt - a.dt) / 12. * bridge;
    EXPECT_NEAR((h * h * both.k).item<double>(), k.item<double>(), 1e-13);
  }
}

/// The covariance of rows of samples, [variables, samples].
Array covariance(const Array& x) { return matmul(x, transpose(x)) * (1. / static_cast<double>(x.dim(1))); }

/// W, H and K are independent, of variances dt, dt / 12 and dt / 720.
void expect_law(const Array& samples, double dt) {
  const double deviations[] = {std::sqrt(dt), std::sqrt(dt / 12.), std::sqrt(dt / 720.)};
  const Array found = covariance(samples);
  const double n = static_cast<double>(samples.dim(1));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double size = deviations[i] * deviations[j];
      // Five standard errors: √2 / √n of a variance, 1 / √n of a covariance.
      EXPECT_NEAR(found[i][j].item<double>(), i == j ? size : 0.,
                  5 * std::sqrt(i == j ? 2. : 1.) * size / std::sqrt(n))
          << i << " " << j;
    }
}

TEST(Brownian, IncrementsHaveTheirLaw) {
  constexpr std::int64_t n = 20'000;
  const struct {
    double t0, t1;
  } intervals[] = {{0., 1.}, {0.25, 0.75}, {0.3, 0.83}, {0.501, 0.5035}, {0.123, 0.1234}};
  for (const auto& [t0, t1] : intervals) {
    SCOPED_TRACE(t0);
    const auto draw = [&](const Array& key) {
      const VirtualBrownianTree path(0., 1., 0.002, Shape{}, key, {.levy_area = LevyArea::SpaceTimeTime});
      return stack(leaves_of(path.increment(t0, t1)));
    };
    expect_law(transpose(jit(vmap(draw))(random::split(random::key(11), n))), t1 - t0);
  }
  const UnsafeBrownianPath unsafe({n}, random::key(4), {.levy_area = LevyArea::SpaceTimeTime});
  expect_law(stack(leaves_of(unsafe.increment(1., 1.5))), 0.5);
}

/// Given the ends, the middle of an interval has their mean and a quarter of the length as variance; so it is
/// for what a rejected step finds within.
TEST(Brownian, InnerPointsAreThoseOfBridges) {
  constexpr std::int64_t n = 20'000;
  const auto draw = [&](const Array& key) {
    const VirtualBrownianTree path(0., 1., 0.002, Shape{}, key);
    const Array whole = path.evaluate(0.2, 0.3), half = path.evaluate(0.2, 0.25);
    return stack({half - 0.5 * whole, whole});
  };
  const Array found = covariance(transpose(jit(vmap(draw))(random::split(random::key(2), n))));
  const double variance = 0.1 / 4;
  EXPECT_NEAR(found[0][0].item<double>(), variance, 5 * variance * std::sqrt(2. / n));
  EXPECT_NEAR(found[0][1].item<double>(), 0., 5 * std::sqrt(variance * 0.1 / n));
}

TEST(Brownian, RunsBack) {
  const VirtualBrownianTree path(-1., 1., 1e-3, {2}, random::key(1), {.levy_area = LevyArea::SpaceTimeTime});
  const auto on = path.increment(-0.3, 0.6), back = path.increment(0.6, -0.3);
  EXPECT_TRUE(same_bits(back.w, -on.w));
  // H and K are quotients of differences.
  EXPECT_LT(max(abs(back.h - on.h)).item<double>(), 1e-14);
  EXPECT_LT(max(abs(back.k + on.k)).item<double>(), 1e-14);
}

struct State {
  Array position, speed;
};
TEST(Brownian, ValuesAreTreesOfAnyShape) {
  const State like{zeros({2, 3}, f32), zeros({0})};
  const VirtualBrownianTree path(0., 1., 0.1, like, random::key(1), {.levy_area = LevyArea::SpaceTime});
  const auto step = path.increment(0.2, 0.7);
  EXPECT_EQ(step.w.position.shape(), Shape({2, 3}));
  EXPECT_EQ(step.h.position.dtype(), Dtype::F32);
  EXPECT_EQ(step.w.speed.shape(), Shape({0}));
  EXPECT_TRUE(step.k.position.is_empty());
  const UnsafeBrownianPath unsafe(like, random::key(1));
  EXPECT_EQ(unsafe.evaluate(0., 1.).position.shape(), Shape({2, 3}));
  // Each leaf has a key of its own.
  const VirtualBrownianTree pair(0., 1., 0.1, std::pair{zeros({2}), zeros({2})}, random::key(1));
  const auto values = pair.evaluate(0.4);
  EXPECT_FALSE(any(values.first == values.second).item<bool>());
}

/// 64 bits of time tell increments apart where f32 does not.
TEST(Brownian, UnsafeIncrementsDoNotRepeat) {
  const UnsafeBrownianPath path({}, random::key(0));
  const auto at = [&](const Array& i) { return path.evaluate(100. + i * 1e-6, 100. + (i + 1.) * 1e-6); };
  const Array w = sort(jit(vmap(at))(astype(arange(2000), f64)));
  EXPECT_GT(min(w[range(1, {})] - w[range({}, -1)]).item<double>(), 0.);
  EXPECT_EQ(at(3.).item<double>(), at(3.).item<double>());
}

TEST(Brownian, PathsAreConstantsForDerivatives) {
  const auto value = [](const Array& t) {
    return VirtualBrownianTree(0., 1., 0.1, Shape{}, random::key(1)).evaluate(0., t) +
           UnsafeBrownianPath({}, random::key(1)).evaluate(0., t);
  };
  EXPECT_EQ(jit(grad(value))(array(0.5)).item<double>(), 0.);
}

}  // namespace
}  // namespace apsis::testing
