// The greatest entries against a stable sort in the opposite order, bit by bit: few and many of short and
// long lines, along any axis, of lines that rise and fall, with ties, zeros of both signs and NaNs of several
// kinds.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "apsis/apsis.hpp"
#include "ops/move_checks.hpp"
#include "ops/records.hpp"

namespace apsis {
namespace {

using checks::same_bits;

std::pair<Array, Array> by_sorting(const Array& x, std::int64_t k, int axis) {
  const Array places = take(argsort(x, {.axis = axis, .descending = true}), arange(k), axis);
  return {take_along_axis(x, places, axis), places};
}

void expect_sorted(const Array& x, std::int64_t k, int axis = -1) {
  SCOPED_TRACE(to_string(x.aval()) + ", " + std::to_string(k) + " along " + std::to_string(axis));
  const auto want = by_sorting(x, k, axis), eager = top_k(x, k, axis);
  const auto compiled = jit([=](const Array& a) { return top_k(a, k, axis); })(x);
  EXPECT_TRUE(same_bits(eager.first, want.first));
  EXPECT_TRUE(same_bits(eager.second, want.second));
  EXPECT_TRUE(same_bits(compiled.first, want.first));
  EXPECT_TRUE(same_bits(compiled.second, want.second));
}

/// Whether most entries are alike, and whether they rise or fall.
enum class Line { Random, Ties, Rising, Falling, NaNs };

Array line_of(Line kind, Dtype dtype, std::int64_t count) {
  testing::Random random(static_cast<std::uint64_t>(count) + 7);
  if (kind == Line::Ties || kind == Line::NaNs) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double special[] = {0., -0., 1., -1., nan, -nan, std::numeric_limits<double>::infinity(), 2.};
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(kind == Line::NaNs && random.word() % 4 > 0 ? nan : special[random.word() % 8]);
    return testing::array_of(dtype, {count}, values);
  }
  const Array x = testing::random_array(random, dtype, {count}, -1e4, 1e4);
  return kind == Line::Random ? x : sort(x, {.descending = kind == Line::Falling});
}

TEST(TopK, IsTheFirstOfADescendingSort) {
  for (Dtype dtype : {f64, f32})
    for (Line kind : {Line::Random, Line::Ties, Line::Rising, Line::Falling, Line::NaNs})
      for (std::int64_t n : {1, 6, 31, 32, 33, 65, 100, 300, 1000, 5000})
        for (std::int64_t k : {0, 1, 2, 10, 32, 33, 40, 128, 257, 2500, 4999, 5000})
          if (k <= n && (k > 0 || n == 6)) expect_sorted(line_of(kind, dtype, n), k);
}

TEST(TopK, OfAllDtypes) {
  testing::Random random(3);
  for (Dtype dtype : {Dtype::I8, i16, i32, i64, u8, u16, u32, u64, bf16, f16, c64, c128})
    for (std::int64_t k : {1, 7, 32, 50, 300, 700}) {
      expect_sorted(testing::random_array(random, dtype, {700}, -100, 100), k);
    }
}

TEST(TopK, AlongAnyAxis) {
  const Array x = reshape(line_of(Line::Ties, f64, 6 * 90 * 35), {6, 90, 35});
  for (const Array& a : {x, astype(x, f32), reshape(line_of(Line::Random, f32, 6 * 90 * 35), {6, 90, 35})})
    for (int axis : {0, 1, 2})
      for (std::int64_t k : {0, 1, 6, 35, 60, 90})
        if (k <= a.dim(axis)) expect_sorted(a, k, axis);
  for (int axis : {0, 1}) expect_sorted(zeros({axis == 1 ? 0 : 4, axis == 1 ? 4 : 0}), 2, axis);
  expect_sorted(line_of(Line::Random, f32, 4'000'000), 100);
  expect_sorted(reshape(line_of(Line::Random, f64, 2'000'000), {2, 1'000'000}), 3);
  expect_sorted(reshape(line_of(Line::Random, f32, 2'000'000), {2000, 1000}), 10);
  expect_sorted(reshape(line_of(Line::Random, f32, 2'000'000), {2000, 1000}), 10, 0);
}

TEST(TopK, InBatchesLoopsAndGradients) {
  for (std::int64_t n : {5, 20, 200})
    for (std::int64_t k : {std::int64_t{0}, std::int64_t{3}, n}) {
      SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(n));
      const Array rows = reshape(line_of(Line::Random, f64, 8 * n), {8, n});
      const auto best = [k](const Array& x) { return top_k(x, k); };
      const auto sorted = [k](const Array& x) { return by_sorting(x, k, -1); };
      EXPECT_TRUE(tree_equal(jit(vmap(best))(rows), sorted(rows)));
      EXPECT_TRUE(tree_equal(jit(vmap(best, {.in_axes = 1}))(transpose(rows)), sorted(rows)));
      const auto weighted = [](auto f) {
        return [f](const Array& x) {
          const auto [values, places] = f(x);
          return sum(values * values * (1. + places));
        };
      };
      EXPECT_TRUE(tree_equal(jit(grad(weighted(best)))(rows[0]), jit(grad(weighted(sorted)))(rows[0])));
      EXPECT_TRUE(tree_equal(grad(weighted(best))(rows[0]), jit(grad(weighted(sorted)))(rows[0])));
      EXPECT_TRUE(tree_equal(jit(vmap(grad(weighted(best))))(rows), jit(vmap(grad(weighted(sorted))))(rows)));
      const auto repeated = [](auto f) {
        return [f](const Array& x) {
          return scan(
                     [f](const Array& c, const Array& y) {
                       const auto [values, places] = f(c + y);
                       return std::pair{c * 0.5 + sum(values), places};
                     },
                     x[0], x)
              .second;
        };
      };
      EXPECT_TRUE(tree_equal(jit(repeated(best))(rows), jit(repeated(sorted))(rows)));
      const Array many = stack({rows, -rows, rows + 0.25});
      EXPECT_TRUE(tree_equal(jit(vmap(repeated(best)))(many), jit(vmap(repeated(sorted)))(many)));
    }
}

}  // namespace
}  // namespace apsis
