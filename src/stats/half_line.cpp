#include "apsis/stats/half_line.hpp"

#include <cmath>
#include <numbers>

#include "stats/support.hpp"

namespace apsis::stats {
using namespace detail;
namespace {

/// z where it is in the support [low, ∞), and finite: there f is asked, elsewhere it is `outside`.
template <class F>
Array inside(const Array& z, double low, const F& f, double outside) {
  const Array in = z >= low && z < INFINITY;
  return where(in, f(where(in, z, low + 1.)), outside);
}
/// The same of functions that have a value at ∞.
template <class F>
Array from(const Array& z, double low, const F& f, double below) {
  const Array in = z >= low;
  return where(in, f(where(in, z, low + 1.)), below);
}

constexpr Family expon_family{
    .log_density = [](const Array& z, Parameters) { return where(z >= 0, -z, -INFINITY); },
    .cdf =
        [](const Array& z, Parameters) {
          return from(
              z, 0, [](const Array& y) { return -expm1(-y); }, 0);
        },
    .log_cdf =
        [](const Array& z, Parameters) {
          return from(
              z, 0, [](const Array& y) { return log1mexp(y); }, -INFINITY);
        },
    .sf =
        [](const Array& z, Parameters) {
          return from(
              z, 0, [](const Array& y) { return exp(-y); }, 1);
        },
    .log_sf = [](const Array& z, Parameters) { return where(z >= 0, -z, 0.); },
    .ppf = [](const Array& q, Parameters) { return -log1p(-q); },
    .isf = [](const Array& q, Parameters) { return -log(q); },
};

Array gamma_log_density(const Array& z, const Array& a) {
  return inside(
      z, 0, [&](const Array& y) { return special::xlogy(a - 1., y) - y - special::gammaln(a); }, -INFINITY);
}
Array gamma_below(const Array& z, const Array& a) {
  return from(
      z, 0, [&](const Array& y) { return special::gammainc(a, y); }, 0);
}
Array gamma_above(const Array& z, const Array& a) {
  return from(
      z, 0, [&](const Array& y) { return special::gammaincc(a, y); }, 1);
}

constexpr Family gamma_family{
    .valid = [](Parameters p) { return p[0] > 0; },
    .log_density = [](const Array& z, Parameters p) { return gamma_log_density(z, p[0]); },
    .cdf = [](const Array& z, Parameters p) { return gamma_below(z, p[0]); },
    .log_cdf = [](const Array& z,
                  Parameters p) { return log_part(gamma_below(z, p[0]), gamma_above(z, p[0])); },
    .sf = [](const Array& z, Parameters p) { return gamma_above(z, p[0]); },
    .log_sf = [](const Array& z,
                 Parameters p) { return log_part(gamma_above(z, p[0]), gamma_below(z, p[0])); },
    .ppf = [](const Array& q, Parameters p) { return special::gammaincinv(p[0], q); },
    .isf = [](const Array& q, Parameters p) { return special::gammainccinv(p[0], q); },
};

// The gamma distribution of df / 2 and scale 2.
constexpr Family chi2_family{
    .valid = [](Parameters p) { return p[0] > 0; },
    .log_density = [](const Array& z,
                      Parameters p) { return gamma_log_density(0.5 * z, 0.5 * p[0]) - std::numbers::ln2; },
    .cdf = [](const Array& z, Parameters p) { return gamma_below(0.5 * z, 0.5 * p[0]); },
    .log_cdf =
        [](const Array& z, Parameters p) {
          return log_part(gamma_below(0.5 * z, 0.5 * p[0]), gamma_above(0.5 * z, 0.5 * p[0]));
        },
    .sf = [](const Array& z, Parameters p) { return gamma_above(0.5 * z, 0.5 * p[0]); },
    .log_sf =
        [](const Array& z, Parameters p) {
          return log_part(gamma_above(0.5 * z, 0.5 * p[0]), gamma_below(0.5 * z, 0.5 * p[0]));
        },
    .ppf = [](const Array& q, Parameters p) { return 2. * special::gammaincinv(0.5 * p[0], q); },
    .isf = [](const Array& q, Parameters p) { return 2. * special::gammainccinv(0.5 * p[0], q); },
};

/// b log z for z ≥ 1: what log_sf is less than 0.
Array pareto_decay(const Array& z, const Array& b) {
  return from(
      z, 1, [&](const Array& y) { return b * log(y); }, 0);
}

constexpr Family pareto_family{
    .valid = [](Parameters p) { return p[0] > 0; },
    .log_density =
        [](const Array& z, Parameters p) {
          return inside(
              z, 1, [&](const Array& y) { return log(p[0]) - (p[0] + 1.) * log(y); }, -INFINITY);
        },
    .cdf = [](const Array& z, Parameters p) { return -expm1(-pareto_decay(z, p[0])); },
    .log_cdf = [](const Array& z, Parameters p) { return log1mexp(pareto_decay(z, p[0])); },
    .sf = [](const Array& z, Parameters p) { return exp(-pareto_decay(z, p[0])); },
    .log_sf = [](const Array& z, Parameters p) { return -pareto_decay(z, p[0]); },
    .ppf = [](const Array& q, Parameters p) { return exp(-log1p(-q) / p[0]); },
    .isf = [](const Array& q, Parameters p) { return exp(-log(q) / p[0]); },
};

Array rayleigh_decay(const Array& z) {
  return from(
      z, 0, [](const Array& y) { return 0.5 * square(y); }, 0);
}

constexpr Family rayleigh_family{
    .log_density =
        [](const Array& z, Parameters) {
          return inside(
              z, 0, [](const Array& y) { return log(y) - 0.5 * square(y); }, -INFINITY);
        },
    .cdf = [](const Array& z, Parameters) { return -expm1(-rayleigh_decay(z)); },
    .log_cdf = [](const Array& z, Parameters) { return log1mexp(rayleigh_decay(z)); },
    .sf = [](const Array& z, Parameters) { return exp(-rayleigh_decay(z)); },
    .log_sf = [](const Array& z, Parameters) { return -rayleigh_decay(z); },
    .ppf = [](const Array& q, Parameters) { return sqrt(-2. * log1p(-q)); },
    .isf = [](const Array& q, Parameters) { return sqrt(-2. * log(q)); },
};

Array weibull_decay(const Array& z, const Array& c) {
  return from(
      z, 0, [&](const Array& y) { return pow(y, c); }, 0);
}

constexpr Family weibull_min_family{
    .valid = [](Parameters p) { return p[0] > 0; },
    .log_density =
        [](const Array& z, Parameters p) {
          const Array& c = p[0];
          return inside(
              z, 0, [&](const Array& y) { return log(c) + special::xlogy(c - 1., y) - pow(y, c); },
              -INFINITY);
        },
    .cdf = [](const Array& z, Parameters p) { return -expm1(-weibull_decay(z, p[0])); },
    .log_cdf = [](const Array& z, Parameters p) { return log1mexp(weibull_decay(z, p[0])); },
    .sf = [](const Array& z, Parameters p) { return exp(-weibull_decay(z, p[0])); },
    .log_sf = [](const Array& z, Parameters p) { return -weibull_decay(z, p[0]); },
    .ppf = [](const Array& q, Parameters p) { return pow(-log1p(-q), 1. / p[0]); },
    .isf = [](const Array& q, Parameters p) { return pow(-log(q), 1. / p[0]); },
};

}  // namespace

APSIS_STATS_DENSITY(expon, (), ())
APSIS_STATS_CDF(expon, (), ())
APSIS_STATS_QUANTILE(expon, (), ())
APSIS_STATS_DENSITY(gamma, (const Array& a, ), (a, ))
APSIS_STATS_CDF(gamma, (const Array& a, ), (a, ))
APSIS_STATS_QUANTILE(gamma, (const Array& a, ), (a, ))
APSIS_STATS_DENSITY(chi2, (const Array& df, ), (df, ))
APSIS_STATS_CDF(chi2, (const Array& df, ), (df, ))
APSIS_STATS_QUANTILE(chi2, (const Array& df, ), (df, ))
APSIS_STATS_DENSITY(pareto, (const Array& b, ), (b, ))
APSIS_STATS_CDF(pareto, (const Array& b, ), (b, ))
APSIS_STATS_QUANTILE(pareto, (const Array& b, ), (b, ))
APSIS_STATS_DENSITY(rayleigh, (), ())
APSIS_STATS_CDF(rayleigh, (), ())
APSIS_STATS_QUANTILE(rayleigh, (), ())
APSIS_STATS_DENSITY(weibull_min, (const Array& c, ), (c, ))
APSIS_STATS_CDF(weibull_min, (const Array& c, ), (c, ))
APSIS_STATS_QUANTILE(weibull_min, (const Array& c, ), (c, ))

}  // namespace apsis::stats
