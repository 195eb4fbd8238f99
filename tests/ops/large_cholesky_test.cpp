// Cholesky's factorisation of large matrices: its backward error, its bits in registers of both widths, and
// matrices without one.

#include "ops/large_cholesky.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ops/records.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

/// B·Bᵀ + 1 with NaN above the diagonal, which is not read.
template <class T>
std::vector<T> positive_matrix(Random& random, std::int64_t n) {
  const auto at = [n](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * n + j); };
  std::vector<double> b(static_cast<std::size_t>(n * n));
  for (double& x : b) x = random.uniform(-1, 1);
  std::vector<T> a(b.size(), std::numeric_limits<T>::quiet_NaN());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = i == j;
      for (std::int64_t k = 0; k < n; ++k) sum += b[at(i, k)] * b[at(j, k)];
      a[at(i, j)] = static_cast<T>(sum);
    }
  return a;
}

template <class T>
void check(std::int64_t n) {
  Random random(92);
  const auto at = [n](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * n + j); };
  const std::vector<T> a = positive_matrix<T>(random, n);
  std::vector<T> narrow = a, wide = a;
  ASSERT_TRUE(large_cholesky(n, narrow.data(), false));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      long double sum = 0, size = 0;
      for (std::int64_t k = 0; k <= j; ++k) {
        const long double term = static_cast<long double>(narrow[at(i, k)]) * narrow[at(j, k)];
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(sum, a[at(i, j)],
                  2 * static_cast<long double>(n) * std::numeric_limits<T>::epsilon() * size)
          << i << ", " << j;
    }
  if (!has_avx512()) return;
  ASSERT_TRUE(large_cholesky(n, wide.data(), true));
  for (std::int64_t i = 0; i < n; ++i)
    EXPECT_EQ(std::memcmp(&narrow[at(i, 0)], &wide[at(i, 0)], static_cast<std::size_t>(i + 1) * sizeof(T)),
              0);
}

TEST(LargeCholesky, IsAFactorisationInRegistersOfEitherWidth) {
  for (const std::int64_t n : {1, 15, 16, 17, 31, 32, 33, 47, 64, 100, 131, 200}) {
    SCOPED_TRACE(n);
    check<double>(n);
    check<float>(n);
    if (HasFatalFailure()) return;
  }
}

TEST(LargeCholesky, OfMatricesThatAreNotPositive) {
  Random random(93);
  constexpr std::int64_t n = 50;
  for (const double wrong : {0., -1., std::nan("")})
    for (const std::int64_t k : {0, 7, 20, 49}) {
      std::vector<double> a = positive_matrix<double>(random, n);
      a[static_cast<std::size_t>(k * n + k)] = wrong;
      EXPECT_FALSE(large_cholesky(n, a.data()));
    }
}

}  // namespace
}  // namespace apsis::testing
