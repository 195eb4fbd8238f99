// The order of sums, against an independent statement of it, at every length where it changes.

#include "ops/sum_order.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "apsis/ops/reduce.hpp"
#include "ops/lax.hpp"
#include "ops/records.hpp"

namespace apsis::testing {
namespace {

// Adds the second half of a list to its first half until one number is left.
double pairwise(std::vector<double> partial) {
  while (partial.size() > 1) {
    const std::size_t half = partial.size() / 2;
    std::vector<double> next(half);
    for (std::size_t i = 0; i < half; ++i) next[i] = partial[i] + partial[i + half];
    partial = next;
  }
  return partial[0];
}

double block_sum(const double* x, std::size_t n) {
  if (n < 16) {
    double total = x[0];
    for (std::size_t i = 1; i < n; ++i) total += x[i];
    return total;
  }
  const std::size_t strides = n < 256 ? 8 : 32;
  std::vector<double> partial(x, x + strides);
  for (std::size_t i = strides; i < n; ++i) partial[i % strides] += x[i];
  return pairwise(partial);
}

double defined_sum(const std::vector<double>& x) {
  double total = 0;
  for (std::size_t first = 0; first < x.size(); first += 4096) {
    const double block = block_sum(x.data() + first, std::min<std::size_t>(4096, x.size() - first));
    total = first == 0 ? block : total + block;
  }
  return total;
}

TEST(SumOrder, IsTheDefinedOne) {
  Random random(31);
  for (std::int64_t n : {1,   2,   15,  16,   17,   23,   24,   31,   64,   100,  255,  256,
                         257, 288, 300, 4095, 4096, 4097, 4100, 4112, 8191, 8192, 8193, 12345}) {
    const Array x = random_array(random, Dtype::F64, {n}, -1, 1);
    const double expected = defined_sum(x.to_vector<double>());
    EXPECT_EQ(sum(x).item<double>(), expected) << n << " elements";
    // Strided along another axis: the same order.
    const Array column = detail::lax::transpose(
        detail::lax::concatenate(
            std::vector<Array>{detail::lax::expand_axis(x, 0), detail::lax::expand_axis(x, 0)}, 0),
        {1, 0});
    EXPECT_EQ(sum(column, {.axis = 0}).to_vector<double>(), (std::vector<double>{expected, expected})) << n;
  }
}

TEST(SumOrder, DependsOnTheNumberOfElementsAlone) {
  Random random(32);
  const Array x = random_array(random, Dtype::F64, {40, 50}, -1, 1);
  EXPECT_EQ(sum(x).item<double>(), sum(detail::lax::reshape(x, {2000})).item<double>());
  EXPECT_EQ(sum(detail::lax::reshape(x, {40, 5, 10}), {.axis = {1, 2}}).to_vector<double>(),
            sum(x, {.axis = 1}).to_vector<double>());
}

TEST(SumOrder, HalvesAccumulateInSinglePrecision) {
  // 4096 ones and a tail that f16 sums, which stop at 2048, would lose.
  EXPECT_EQ(sum(detail::lax::full({4100}, Dtype::F16, 1)).item<double>(), 4100);
}

}  // namespace
}  // namespace apsis::testing
