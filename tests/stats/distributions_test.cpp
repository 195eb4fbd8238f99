// Densities and distribution functions against 90 digits and SciPy.

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/stats/bounded.hpp"
#include "apsis/stats/discrete.hpp"
#include "apsis/stats/half_line.hpp"
#include "apsis/stats/multivariate.hpp"
#include "apsis/stats/normal.hpp"
#include "apsis/stats/real_line.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

using A = const Array&;

// Functions by how many arguments they have.
Arrays call(Array (*f)(A, A, Loc), Inputs x) { return {f(x[0], x[1], {})}; }
Arrays call(Array (*f)(A, A, A, Loc), Inputs x) { return {f(x[0], x[1], x[2], {})}; }
Arrays call(Array (*f)(A, A, A, A, Loc), Inputs x) { return {f(x[0], x[1], x[2], x[3], {})}; }
Arrays call(Array (*f)(A, A, A, A, A, Loc), Inputs x) { return {f(x[0], x[1], x[2], x[3], x[4], {})}; }

// In f64 the bounds of the incomplete functions are 60 ULP and more in tails, and terms of 10 cancel in log
// densities: 200 ULP. In f32 arguments are rounded, by as much as their function is steep there. Gradients
// are sums of terms of size 1.
template <class F>
Function of(F* f) {
  return {[f](const Case&, Inputs x) { return call(f, x); }, 5e-14, 4e-6, false, 1, false};
}

#define APSIS_ROW(family, function) \
  { #family "." #function, of(stats::family::function) }
#define APSIS_DENSITY(family) APSIS_ROW(family, logpdf), APSIS_ROW(family, pdf)
#define APSIS_CDF(family) \
  APSIS_ROW(family, cdf), APSIS_ROW(family, logcdf), APSIS_ROW(family, sf), APSIS_ROW(family, logsf)
#define APSIS_QUANTILE(family) APSIS_ROW(family, ppf), APSIS_ROW(family, isf)
#define APSIS_MASS(family) APSIS_ROW(family, logpmf), APSIS_ROW(family, pmf)
#define APSIS_MASS_CDF(family) APSIS_ROW(family, cdf), APSIS_ROW(family, sf)

Table distributions() {
  return {
      APSIS_DENSITY(norm),
      APSIS_CDF(norm),
      APSIS_QUANTILE(norm),
      APSIS_DENSITY(lognorm),
      APSIS_CDF(lognorm),
      APSIS_QUANTILE(lognorm),
      APSIS_DENSITY(truncnorm),
      APSIS_CDF(truncnorm),
      APSIS_DENSITY(gennorm),
      APSIS_CDF(gennorm),
      APSIS_QUANTILE(gennorm),
      APSIS_DENSITY(cauchy),
      APSIS_CDF(cauchy),
      APSIS_QUANTILE(cauchy),
      APSIS_DENSITY(laplace),
      APSIS_CDF(laplace),
      APSIS_QUANTILE(laplace),
      APSIS_DENSITY(logistic),
      APSIS_CDF(logistic),
      APSIS_QUANTILE(logistic),
      APSIS_DENSITY(gumbel_r),
      APSIS_CDF(gumbel_r),
      APSIS_QUANTILE(gumbel_r),
      APSIS_DENSITY(gumbel_l),
      APSIS_CDF(gumbel_l),
      APSIS_QUANTILE(gumbel_l),
      APSIS_DENSITY(t),
      APSIS_CDF(t),
      APSIS_QUANTILE(t),
      APSIS_DENSITY(expon),
      APSIS_CDF(expon),
      APSIS_QUANTILE(expon),
      APSIS_DENSITY(gamma),
      APSIS_CDF(gamma),
      APSIS_QUANTILE(gamma),
      APSIS_DENSITY(chi2),
      APSIS_CDF(chi2),
      APSIS_QUANTILE(chi2),
      APSIS_DENSITY(pareto),
      APSIS_CDF(pareto),
      APSIS_QUANTILE(pareto),
      APSIS_DENSITY(rayleigh),
      APSIS_CDF(rayleigh),
      APSIS_QUANTILE(rayleigh),
      APSIS_DENSITY(weibull_min),
      APSIS_CDF(weibull_min),
      APSIS_QUANTILE(weibull_min),
      APSIS_DENSITY(beta),
      APSIS_CDF(beta),
      APSIS_QUANTILE(beta),
      APSIS_DENSITY(uniform),
      APSIS_CDF(uniform),
      APSIS_QUANTILE(uniform),
      APSIS_DENSITY(vonmises),
      APSIS_DENSITY(wrapcauchy),
      APSIS_MASS(bernoulli),
      APSIS_MASS_CDF(bernoulli),
      APSIS_ROW(bernoulli, ppf),
      APSIS_MASS(binom),
      APSIS_MASS_CDF(binom),
      APSIS_MASS(betabinom),
      APSIS_MASS(geom),
      APSIS_MASS_CDF(geom),
      APSIS_MASS(nbinom),
      APSIS_MASS_CDF(nbinom),
      APSIS_MASS(poisson),
      APSIS_MASS_CDF(poisson),
      APSIS_DENSITY(multivariate_normal),
      APSIS_DENSITY(dirichlet),
      APSIS_MASS(multinomial),
  };
}

TEST(Stats, DistributionsAreTheirFormulas) { check_golden("stats", distributions()); }

// 1e-300, 1e-30 and the like, from both ends: of gamma and beta functions, 60 + 2 |log| ULP of the
// probability move quantiles by no more than these, 1e-12 of themselves.
TEST(Stats, QuantilesInTheTails) {
  const Table table = distributions();
  int count = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/stats_tails.txt")) {
    const double got = table.at(c.name).run(c, golden::inputs_of(c))[0].item<double>(),
                 want = c["y0"].real.at(0);
    EXPECT_LE(std::fabs(got - want), 1e-12 * std::fabs(want)) << c.name << " at " << c["x0"].real[0];
    ++count;
  }
  EXPECT_EQ(count, 17 * 8);
}

TEST(Stats, DtypesAreThoseOfArithmetic) {
  const Array half = astype(array({0.25, 2.}), bf16);
  EXPECT_EQ(stats::norm::cdf(half).dtype(), bf16);
  EXPECT_EQ(stats::gamma::ppf(astype(array({0.25, 0.5}), f16), 2.).dtype(), f16);
  EXPECT_EQ(stats::norm::cdf(astype(array({0, 3}), i64)).dtype(), f64);
  EXPECT_EQ(stats::poisson::pmf(astype(array({0, 3}), i32), Array(2.5, f32)).dtype(), f32);
  // Computed in f32, and rounded once.
  const Array wide = stats::t::logpdf(astype(half, f32), Array(3., f32));
  expect_identical({stats::t::logpdf(half, Array(3., bf16))}, {astype(wide, bf16)}, "bf16");
}

// By rules of rules: quantiles by iteration have derivatives of every order.
TEST(Stats, SecondDerivatives) {
  const auto quantile = [](const Array& q, const Array& df) { return stats::t::ppf(q, df); };
  assert_numerical_gradients(quantile, std::tuple{Array(0.3), Array(2.3)}, {.order = 2});
}

}  // namespace
}  // namespace apsis::testing
