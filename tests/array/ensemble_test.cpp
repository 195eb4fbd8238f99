// Draws for ensembles: Sobol's sequence against SciPy's, what Owen's scrambling keeps and what it makes
// random, pairs, parts of ensembles.

#include <cmath>
#include <set>

#include <apsis/apsis.hpp>

#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::to_array;

bool same(const Array& a, const Array& b) { return array_equal(a, b).item<bool>(); }

TEST(Sobol, EqualsSciPy) {
  int cases = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/sobol.txt")) {
    SCOPED_TRACE(c.name);
    const auto &columns = c["columns"].integers, &points = c["points"].integers;
    const std::int64_t first = std::stoll(c.text.at("first")), rows = c["points"].shape[0];
    const Array got = random::sobol(rows, columns.back() + 1, {.first = first});
    const Array want = astype(to_array(c["points"]), f64) * std::ldexp(1., -32);
    EXPECT_TRUE(same(take(got, to_array(c["columns"]), 1), want));
    EXPECT_EQ(points.size(), columns.size() * static_cast<std::size_t>(rows));
    ++cases;
  }
  EXPECT_EQ(cases, 4);
}

TEST(Sobol, ScramblingKeepsTheNet) {
  // The first two dimensions: of 2^k points one is in each of the 2^k boxes of any size a power of 2.
  const int k = 8;
  const Array points = random::sobol(1 << k, 2, {.key = random::key(3)});
  for (int i = 0; i <= k; ++i) {
    const Array box = astype(floor(points * array({std::ldexp(1., i), std::ldexp(1., k - i)})), i64);
    const auto x = box(range(), 0).to_vector<std::int64_t>(), y = box(range(), 1).to_vector<std::int64_t>();
    std::set<std::pair<std::int64_t, std::int64_t>> boxes;
    for (std::size_t j = 0; j < x.size(); ++j) boxes.insert({x[j], y[j]});
    EXPECT_EQ(boxes.size(), std::size_t{1} << k) << i;
  }
}

TEST(Sobol, EachScrambledPointIsUniform) {
  const std::int64_t keys = 4096;
  const Array points = jit(vmap([](const Array& key) { return random::sobol(3, 2, {.key = key}); }))(
      random::split(random::key(1), keys));
  // Kolmogorov's distribution: above 2 / sqrt(n) with a probability of 7e-4.
  for (int i = 0; i < 3; ++i)
    for (int d = 0; d < 2; ++d) {
      const Array x = sort(points(range(), i, d)), rank = (arange(keys) + 0.5) / static_cast<double>(keys);
      EXPECT_LT(max(abs(x - rank)).item<double>(), 2 / std::sqrt(keys)) << i << " " << d;
    }
  // Coins of one point are independent: each of the 8 patterns of its leading three bits, and bits of other
  // places likewise, five standard deviations.
  for (const double scale : {8., 1024., 33554432.}) {
    const Array octant = astype(floor(points(range(), 1, 1) * scale), i64) & 7;
    for (int pattern = 0; pattern < 8; ++pattern)
      EXPECT_NEAR(sum(astype(octant == pattern, f64)).item<double>() / keys, 0.125,
                  5 * std::sqrt(0.125 * 0.875 / keys));
  }
}

TEST(Sobol, MeansConvergeWithTheOrderOfOwensVariance) {
  // The variance is O(n⁻³ log³ n) (Owen 1997), that of independent points O(n⁻¹).
  const auto variance = [](Draws draws, std::int64_t n) {
    const auto estimate = [&](const Array& key) {
      const Array u = random::uniform_members(key, n, {4}, {.draws = draws});
      return mean(exp(0.5 * sum(u, {.axis = 1})));
    };
    return var(jit(vmap(estimate))(random::split(random::key(5), 128))).item<double>();
  };
  const double order = std::log2(variance(Draws::Sobol, 64) / variance(Draws::Sobol, 1024)) / 4;
  EXPECT_GT(order, 2.3);
  EXPECT_LT(order, 3.3);
  EXPECT_LT(variance(Draws::Antithetic, 256), 0.2 * variance(Draws::Independent, 256));
  EXPECT_LT(variance(Draws::Sobol, 256), 1e-2 * variance(Draws::Independent, 256));
}

constexpr Draws all_draws[] = {Draws::Independent, Draws::Antithetic, Draws::Sobol};

TEST(Members, PartsAreTheWhole) {
  const Array key = random::key(9);
  for (const Draws draws : all_draws) {
    const Array whole = random::uniform_members(key, 12, {2, 3}, {.draws = draws});
    const auto part = [&](const Array& first) {
      return random::uniform_members(key, 5, {2, 3}, {.draws = draws, .first = first});
    };
    EXPECT_EQ(whole.shape(), (Shape{12, 2, 3}));
    EXPECT_TRUE(same(part(std::int64_t{0}), whole[range(0, 5)]));
    EXPECT_TRUE(same(jit(part)(std::int64_t{7}), whole[range(7, 12)]));
    const Array chunks = jit(vmap(part))(array({std::int64_t{1}, std::int64_t{6}}));
    EXPECT_TRUE(same(chunks[1], whole[range(6, 11)]));
    EXPECT_FALSE(same(random::uniform_members(random::key(10), 12, {2, 3}, {.draws = draws}), whole));
    // Normal numbers are functions of these, which compiled code rounds in its own way.
    const Array normals = random::normal_members(key, 12, {}, {.draws = draws});
    const auto later = [&](const Array& first) {
      return random::normal_members(key, 2, {}, {.draws = draws, .first = first});
    };
    EXPECT_TRUE(allclose(jit(later)(std::int64_t{5}), normals[range(5, 7)], {.rtol = 1e-14}).item<bool>());
  }
}

TEST(Members, AntitheticOnesMirrorEachOther) {
  const Array key = random::key(2);
  const Array z = random::normal_members(key, 9, {4}, {.draws = Draws::Antithetic});
  EXPECT_TRUE(same(z[range(1, {}, 2)], -z[range(0, 8, 2)]));
  const Array u = random::uniform_members(key, 8, {}, {.draws = Draws::Antithetic});
  EXPECT_TRUE(same(u[range(1, {}, 2)], 1. - u[range(0, {}, 2)]));
}

TEST(Members, AreOfTheirDistributionInEveryDtype) {
  const std::int64_t n = 8192;
  for (const Draws draws : all_draws)
    for (const Dtype dtype : {f64, f32, f16, bf16}) {
      SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(static_cast<int>(draws)));
      const Array key = random::key(4);
      const Array u = random::uniform_members(key, n, {}, {.draws = draws, .dtype = dtype});
      EXPECT_EQ(u.dtype(), dtype);
      EXPECT_TRUE(all(u > 0. && u < 1.).item<bool>());
      const Array z = astype(random::normal_members(key, n, {}, {.draws = draws, .dtype = dtype}), f64);
      EXPECT_TRUE(all(isfinite(z)).item<bool>());
      // Five standard deviations of the mean and of the variance, and the spacing of the dtype.
      const double near = 5 / std::sqrt(n) + 2 * finfo(dtype).eps;
      EXPECT_NEAR(mean(astype(u, f64)).item<double>(), 0.5, near * std::sqrt(1. / 12));
      EXPECT_NEAR(mean(z).item<double>(), 0, near);
      EXPECT_NEAR(var(z).item<double>(), 1, near * std::sqrt(2) * 1.5);
    }
}

TEST(Members, OfNothing) {
  for (const Draws draws : all_draws) {
    EXPECT_EQ(random::normal_members(random::key(0), 0, {3}, {.draws = draws}).shape(), (Shape{0, 3}));
    EXPECT_EQ(random::uniform_members(random::key(0), 4, {0}, {.draws = draws}).shape(), (Shape{4, 0}));
  }
  EXPECT_EQ(random::sobol(0, 3).shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace apsis::testing
