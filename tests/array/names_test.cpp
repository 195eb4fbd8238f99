// Functions that are others in another form, each against these.

#include <apsis/apsis.hpp>

#include "array/suite.hpp"

namespace apsis::testing {
namespace {

TEST(Names, CountLeadingZeros) {
  for (const Dtype dtype : {u8, i16, i32, u64}) {
    const std::int64_t bits = 8 * static_cast<std::int64_t>(item_size(dtype));
    const Array x = astype(array({1, 2, 3, 64, 127}), dtype);
    EXPECT_TRUE(identical(count_leading_zeros(x),
                          astype(array({bits - 1, bits - 2, bits - 2, bits - 7, bits - 7}), dtype)));
    EXPECT_TRUE(identical(count_leading_zeros(zeros({2}, dtype)), full({2}, bits, dtype)));
  }
}

TEST(Names, ArgpartitionIsTheOrderOfPartition) {
  const Array x = random::normal(random::key(1), {4, 9});
  for (const int axis : {0, 1, -1})
    for (const std::int64_t kth : {0, 2, 3}) {
      const Array at = argpartition(x, kth, axis);
      EXPECT_TRUE(identical(take_along_axis(x, at, axis), partition(x, kth, axis)));
    }
}

TEST(Names, HistogramBinEdgesAreThoseOfHistogram) {
  const Array x = array({1., 4., 2., 8., 5.}), at = array({0., 1., 9.});
  for (const HistogramOptions& options :
       {HistogramOptions{}, HistogramOptions{.bins = 3, .low = 0., .high = 10.},
        HistogramOptions{.edges = at}})
    EXPECT_TRUE(identical(histogram_bin_edges(x, options), histogram(x, options).second));
}

TEST(Names, Activations) {
  const Array x = linspace(-5., 5., 41);
  EXPECT_TRUE(identical(nn::hard_swish(x), nn::hard_silu(x)));
  EXPECT_TRUE(identical(nn::leaky_relu(x, .1), where(x > 0, x, .1 * x)));
  EXPECT_TRUE(identical(nn::leaky_relu(x), nn::leaky_relu(x, .01)));
  EXPECT_TRUE(identical(grad([](const Array& v) { return sum(nn::leaky_relu(v, .1)); })(x),
                        where(x > 0, 1., Array(.1))));
}

}  // namespace
}  // namespace apsis::testing
