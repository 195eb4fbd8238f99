// Modes, density estimates and the entropy of counts against JAX and mpmath.

#include "apsis/stats/sample.hpp"

#include "apsis/ops/convert.hpp"
#include "apsis/stats/discrete.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

stats::GaussianKde estimate(const Case& c, Inputs x) {
  stats::KdeOptions options;
  if (c.text.contains("rule") && number(c, "rule") == 1) options.bandwidth = stats::Bandwidth::Silverman;
  if (x.size() == 3 && c.name != "integrate_gaussian") options.weights = x[2];
  return stats::gaussian_kde(x[0], options);
}

Table sample_functions() {
  return {
      {"mode", many(
                   [](const Case& c, Inputs x) {
                     const std::int64_t n = number(c, "axis");
                     const std::optional<int> axis =
                         n == -9 ? std::nullopt : std::optional<int>(static_cast<int>(n));
                     const auto [mode, count] =
                         stats::mode(x[0], {.axis = axis, .keepdims = flag(c, "keepdims")});
                     return Arrays{mode, count};
                   },
                   0, 0)},
      {"pdf", one([](const Case& c, Inputs x) { return estimate(c, x).pdf(x[1]); }, 1e-13, 1e-5)},
      {"logpdf", one([](const Case& c, Inputs x) { return estimate(c, x).logpdf(x[1]); }, 1e-13, 1e-5)},
      {"integrate_gaussian",
       one([](const Case& c, Inputs x) { return estimate(c, x).integrate_gaussian(x[1], x[2]); }, 1e-13,
           1e-5)},
      {"integrate_box_1d",
       one([](const Case&, Inputs x) { return stats::gaussian_kde(x[0]).integrate_box_1d(x[1], x[2]); },
           1e-13, 1e-5)},
      {"integrate_kde",
       one([](const Case&,
              Inputs x) { return stats::gaussian_kde(x[0]).integrate_kde(stats::gaussian_kde(x[1])); },
           1e-13, 1e-5)},
      {"resample",
       one([](const Case&, Inputs x) { return stats::gaussian_kde(x[1]).resample(x[0], 6); }, 1e-13, 1e-5)},
      {"entropy", one([](const Case&, Inputs x) { return stats::poisson::entropy(x[0]); }, 1e-13)},
  };
}

TEST(Stats, SamplesAsJax) { check_golden("sample", sample_functions()); }

TEST(Stats, DensityEstimatesAreTrees) {
  const stats::GaussianKde kde = stats::gaussian_kde(array({0., 1., 3.}), {.factor = 0.5});
  const Array inside = jit([](const stats::GaussianKde& k) { return k.integrate_box_1d(-50., 50.); })(kde);
  EXPECT_NEAR(inside.item<double>(), 1, 1e-15);
  EXPECT_NEAR(kde.covariance.item<double>(), 0.25 * 7 / 3, 1e-15);
}

TEST(Stats, ModesOfNanAndOfMany) {
  const auto [mode, count] = stats::mode(array({2., 1., 2., 1., 0.}));
  EXPECT_EQ(mode.item<double>(), 1);
  EXPECT_EQ(count.item<std::int64_t>(), 2);
  const auto nan = stats::mode(array({double(NAN), 1., double(NAN)}));
  EXPECT_TRUE(std::isnan(nan.mode.item<double>()));
  EXPECT_EQ(nan.count.item<std::int64_t>(), 2);
}

}  // namespace
}  // namespace apsis::testing
