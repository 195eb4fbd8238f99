// The order of sums, against an independent statement of it, at every length where it changes.

#include "ops/sum_order.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "apsis/array/creation.hpp"
#include "apsis/array/dtype.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/transform/jit.hpp"
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

// Sums of blocks; then, until one is left, sums of 64 neighbours each, one after the other.
double defined_sum(const std::vector<double>& x) {
  std::vector<double> sums;
  for (std::size_t first = 0; first < x.size(); first += 4096)
    sums.push_back(block_sum(x.data() + first, std::min<std::size_t>(4096, x.size() - first)));
  while (sums.size() > 1) {
    std::vector<double> groups;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (i % 64 == 0)
        groups.push_back(sums[i]);
      else
        groups.back() += sums[i];
    }
    sums = groups;
  }
  return sums[0];
}

TEST(SumOrder, IsTheDefinedOne) {
  Random random(31);
  for (std::int64_t n : {1,    2,    15,   16,    17,     23,     24,     31,     64,     100,
                         255,  256,  257,  288,   300,    4095,   4096,   4097,   4100,   4112,
                         8191, 8192, 8193, 12345, 262143, 262144, 262145, 266240, 266247, 819500}) {
    const Array x = random_array(random, Dtype::F64, {n}, -1, 1);
    const double expected = defined_sum(x.to_vector<double>());
    EXPECT_EQ(sum(x).item<double>(), expected) << n << " elements";
    EXPECT_EQ(jit([](const Array& v) { return sum(v); })(x).item<double>(), expected) << n << " elements";
    // Strided along another axis: the same order.
    const Array column = detail::lax::transpose(
        detail::lax::concatenate(
            std::vector<Array>{detail::lax::expand_axis(x, 0), detail::lax::expand_axis(x, 0)}, 0),
        {1, 0});
    EXPECT_EQ(sum(column, {.axis = 0}).to_vector<double>(), (std::vector<double>{expected, expected})) << n;
    EXPECT_EQ(jit([](const Array& v) { return sum(v, {.axis = 0}); })(column).to_vector<double>(),
              (std::vector<double>{expected, expected}))
        << n;
  }
}

// Terms that lie in lines of `length`, with other sums between them.
TEST(SumOrder, OfTwoAxes) {
  Random random(34);
  for (std::int64_t length : {5, 8, 16, 24, 40, 48, 64, 784})
    for (std::int64_t lines : {2, 3, 31, 300, 600}) {
      const Array x = random_array(random, Dtype::F64, {lines, 3, length}, -1, 1);
      const std::vector<double> all = x.to_vector<double>();
      std::vector<double> expected;
      for (std::int64_t j = 0; j < 3; ++j) {
        std::vector<double> terms;
        for (std::int64_t i = 0; i < lines; ++i)
          for (std::int64_t k = 0; k < length; ++k)
            terms.push_back(all[static_cast<std::size_t>((i * 3 + j) * length + k)]);
        expected.push_back(defined_sum(terms));
      }
      const auto total = [](const Array& v) { return sum(v, {.axis = {0, 2}}); };
      EXPECT_EQ(total(x).to_vector<double>(), expected) << lines << " lines of " << length;
      EXPECT_EQ(jit(total)(x).to_vector<double>(), expected) << lines << " lines of " << length;
      const auto of_squares = [&](const Array& v) { return total(v * v); };
      EXPECT_EQ(jit(of_squares)(x).to_vector<double>(), total(x * x).to_vector<double>())
          << "squares, " << lines << " lines of " << length;
    }
}

// The sum of what `term` makes of the elements, in long double and in blocks: its own error is far below what
// is tested.
long double wide_sum(const Array& x, auto term) {
  const std::vector<double> values = astype(x, Dtype::F64).to_vector<double>();
  long double total = 0, block = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    block += term(static_cast<long double>(values[i]));
    if (i % 4096 == 4095 || i + 1 == values.size()) total += std::exchange(block, 0);
  }
  return total;
}

void expect_errors_within_logarithms(Dtype dtype, std::int64_t n) {
  const double bound = 4 * finfo(dtype).eps * std::log2(static_cast<double>(n));
  Random random(33);
  for (const Array& x : {full({n}, 0.1, dtype), random_array(random, dtype, {n}, 0, 1)}) {
    const long double total = wide_sum(x, [](long double v) { return v; });
    const long double mean_of = total / static_cast<long double>(n);
    const auto squares = [&](long double v) { return (v - mean_of) * (v - mean_of); };
    const long double variance = wide_sum(x, squares) / static_cast<long double>(n);
    // The mean's error, squared, is what equal terms have as variance.
    const long double of_mean = bound * bound * mean_of * mean_of;
    const long double product = wide_sum(x, [](long double v) { return v * v; });
    const auto all = [](const Array& v) { return std::make_tuple(sum(v), mean(v), var(v), dot(v, v)); };
    const auto number = [](const Array& v) {
      return static_cast<long double>(astype(v, Dtype::F64).item<double>());
    };
    for (const auto& [s, m, v, p] : {all(x), jit(all)(x)}) {
      EXPECT_LE(std::abs(number(s) / total - 1), bound) << n << " terms";
      EXPECT_LE(std::abs(number(m) / mean_of - 1), bound) << n << " terms";
      EXPECT_LE(std::abs(number(v) - variance), bound * variance + of_mean) << n << " terms";
      EXPECT_LE(std::abs(number(p) / product - 1), bound) << n << " terms";
    }
  }
}

TEST(SumOrder, ErrorsGrowWithTheLogarithm) {
  for (std::int64_t n : {1000, 100'000, 3'000'000}) {
    expect_errors_within_logarithms(Dtype::F32, n);
    expect_errors_within_logarithms(Dtype::F64, n);
  }
}

TEST(SumOrder, SlowErrorsOfAHundredMillionTerms) {
  expect_errors_within_logarithms(Dtype::F32, 100'000'000);
  expect_errors_within_logarithms(Dtype::F64, 100'000'000);
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
