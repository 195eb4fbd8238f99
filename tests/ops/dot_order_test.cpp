// The order in which contractions add up, against an independent statement of it, at every length where it
// changes.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "apsis/ops/linalg.hpp"
#include "ops/records.hpp"

namespace apsis::testing {
namespace {

std::vector<double> numbers(std::size_t n, double seed) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(std::sin(seed + 1.7 * static_cast<double>(i)) / (1. + static_cast<double>(i % 7)));
  return x;
}

double defined_dot(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 32) {
    double total = 0;
    for (std::size_t k = 0; k < a.size(); ++k) total = std::fma(a[k], b[k], total);
    return total;
  }
  double s[8] = {};
  for (std::size_t k = 0; k < a.size(); ++k) s[k % 8] = std::fma(a[k], b[k], s[k % 8]);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

TEST(DotOrder, IsAFunctionOfTheNumberOfTerms) {
  for (std::size_t n : {1u, 7u, 16u, 31u, 32u, 33u, 40u, 63u, 64u, 100u, 1000u, 4095u}) {
    SCOPED_TRACE(n);
    const std::vector<double> a = numbers(n, 0.3), b = numbers(n, 1.1);
    const double expected = defined_dot(a, b), got = dot(array(a), array(b)).item<double>();
    EXPECT_EQ(std::memcmp(&got, &expected, sizeof got), 0) << got << " and " << expected;
    if (n > 1000) continue;  // beyond are blocks
    // Each column of a matrix alike.
    std::vector<double> columns;
    for (double x : b)
      for (double scale : {1., -2., 0.5}) columns.push_back(scale * x);
    const auto products =
        matmul(array(a), array(columns, {static_cast<std::int64_t>(n), 3})).to_vector<double>();
    EXPECT_EQ(products, (std::vector<double>{expected, -2 * expected, 0.5 * expected}));
  }
}

}  // namespace
}  // namespace apsis::testing
