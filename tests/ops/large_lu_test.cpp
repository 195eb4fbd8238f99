// The factorisation of large matrices: its backward error, its bits in registers of both widths, rows that
// are exchanged, and matrices without a factorisation.

#include "ops/large_lu.hpp"

#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "ops/records.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

struct Sizes {
  std::int64_t m, n;
};
constexpr Sizes all_sizes[] = {{1, 1},   {16, 16}, {17, 17},   {40, 23},  {23, 40}, {16, 90},
                               {90, 16}, {5, 64},  {100, 100}, {131, 67}, {33, 200}};

template <class T>
std::vector<T> random_matrix(Random& random, std::int64_t m, std::int64_t n) {
  std::vector<T> a(static_cast<std::size_t>(m * n));
  for (T& x : a) x = static_cast<T>(random.uniform(-1, 1));
  return a;
}

/// Row by row: the rows of A as they were exchanged, less L·U; entries of L are at most 1.
template <class T>
void check_factors(Sizes s, std::vector<T> a, const std::vector<T>& lu,
                   const std::vector<std::int32_t>& pivots) {
  const auto at = [&](const std::vector<T>& x, std::int64_t i, std::int64_t j) {
    return static_cast<long double>(x[static_cast<std::size_t>(i * s.n + j)]);
  };
  const std::int64_t k = std::min(s.m, s.n);
  for (std::int64_t j = 0; j < k; ++j) {
    const std::int64_t pivot = pivots[static_cast<std::size_t>(j)];
    ASSERT_TRUE(pivot >= j && pivot < s.m);
    if (pivot != j) std::swap_ranges(a.begin() + j * s.n, a.begin() + (j + 1) * s.n, a.begin() + pivot * s.n);
  }
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      if (j < i && j < k) {
        ASSERT_LE(std::abs(at(lu, i, j)), 1);
      }
      long double sum = 0, size = 0;
      for (std::int64_t l = 0; l <= std::min({i, j, k - 1}); ++l) {
        const long double term = (l == i ? 1 : at(lu, i, l)) * at(lu, l, j);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(sum, at(a, i, j),
                  2 * static_cast<long double>(k) * std::numeric_limits<T>::epsilon() * size)
          << i << ", " << j;
    }
}

template <class T>
void check(Sizes s) {
  Random random(91);
  const std::vector<T> a = random_matrix<T>(random, s.m, s.n);
  std::vector<T> narrow = a, wide = a;
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(std::min(s.m, s.n))), others = pivots;
  large_lu(s.m, s.n, narrow.data(), pivots.data(), false);
  check_factors(s, a, narrow, pivots);
  if (!has_avx512()) return;
  large_lu(s.m, s.n, wide.data(), others.data(), true);
  EXPECT_EQ(std::memcmp(narrow.data(), wide.data(), a.size() * sizeof(T)), 0);
  EXPECT_EQ(pivots, others);
}

TEST(LargeLu, IsAFactorisationInRegistersOfEitherWidth) {
  for (const Sizes s : all_sizes) {
    SCOPED_TRACE(std::to_string(s.m) + " by " + std::to_string(s.n));
    check<double>(s);
    check<float>(s);
    if (HasFatalFailure()) return;
  }
}

TEST(LargeLu, OfMatricesWithoutOne) {
  constexpr std::int64_t n = 40;
  std::vector<std::int32_t> pivots(n), in_order(n);
  std::iota(in_order.begin(), in_order.end(), 0);
  std::vector<double> zeros(n * n);
  large_lu(n, n, zeros.data(), pivots.data());
  EXPECT_EQ(pivots, in_order);
  EXPECT_EQ(zeros, std::vector<double>(n * n));
  // Equal rows: the first of the largest entries is the pivot, and what is left is zero.
  std::vector<double> equal(n * n, 3.);
  large_lu(n, n, equal.data(), pivots.data());
  EXPECT_EQ(pivots, in_order);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      EXPECT_EQ(equal[static_cast<std::size_t>(i * n + j)], i == 0 ? 3. : j == 0 ? 1. : 0.);
  std::vector<double> nans(n * n, std::nan(""));
  large_lu(n, n, nans.data(), pivots.data());
  for (std::int64_t j = 0; j < n; ++j) EXPECT_TRUE(pivots[static_cast<std::size_t>(j)] >= j);
}

}  // namespace
}  // namespace apsis::testing
