// Densities and distribution functions against 90 digits and SciPy.

#include "apsis/stats/bounded.hpp"
#include "apsis/stats/discrete.hpp"
#include "apsis/stats/half_line.hpp"
#include "apsis/stats/normal.hpp"
#include "apsis/stats/real_line.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

using A = const Array&;

// Functions by how many arguments they have.
Arrays call(Array (*f)(A, A, A, Loc), Inputs x) { return {f(x[0], x[1], x[2], {})}; }
Arrays call(Array (*f)(A, A, A, A, Loc), Inputs x) { return {f(x[0], x[1], x[2], x[3], {})}; }
Arrays call(Array (*f)(A, A, A, A, A, Loc), Inputs x) { return {f(x[0], x[1], x[2], x[3], x[4], {})}; }

// In f64 the bounds of the incomplete functions are 60 ULP and more in tails, and terms of 10 cancel in log
// densities: 200 ULP. In f32 arguments are rounded, by as much as their function is steep there. Gradients
// are sums of terms of size 1.
template <class F>
Function of(F* f) {
  return {[f](const Case&, Inputs x) { return call(f, x); }, 5e-14, 4e-6, false, 1};
}

#define APSIS_ROW(family, function) \
  { #family "." #function, of(stats::family::function) }
#define APSIS_DENSITY(family) APSIS_ROW(family, logpdf), APSIS_ROW(family, pdf)
#define APSIS_CDF(family) \
  APSIS_ROW(family, cdf), APSIS_ROW(family, logcdf), APSIS_ROW(family, sf), APSIS_ROW(family, logsf)
#define APSIS_QUANTILE(family) APSIS_ROW(family, ppf), APSIS_ROW(family, isf)
#define APSIS_MASS(family) APSIS_ROW(family, logpmf), APSIS_ROW(family, pmf)
#define APSIS_MASS_CDF(family) APSIS_ROW(family, cdf), APSIS_ROW(family, sf)

TEST(Stats, DistributionsAreTheirFormulas) {
  check_golden("stats", Table{
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
                            APSIS_DENSITY(expon),
                            APSIS_CDF(expon),
                            APSIS_QUANTILE(expon),
                            APSIS_DENSITY(gamma),
                            APSIS_CDF(gamma),
                            APSIS_DENSITY(chi2),
                            APSIS_CDF(chi2),
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
                        });
}

}  // namespace
}  // namespace apsis::testing
