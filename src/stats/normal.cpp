#include "apsis/stats/normal.hpp"

#include <cmath>
#include <numbers>

#include "stats/support.hpp"
#include "stats/through_density.hpp"

namespace apsis::stats {
using namespace detail;
namespace {

constexpr double root_half = std::numbers::sqrt2 / 2;

Array standard_log_density(const Array& z) { return -0.5 * square(z) - log_root_two_pi; }

constexpr Family norm_family{
    .log_density = [](const Array& z, Parameters) { return standard_log_density(z); },
    .cdf = [](const Array& z, Parameters) { return special::ndtr(z); },
    .log_cdf = [](const Array& z, Parameters) { return special::log_ndtr(z); },
    .sf = [](const Array& z, Parameters) { return special::ndtr(-z); },
    .log_sf = [](const Array& z, Parameters) { return special::log_ndtr(-z); },
    .ppf = [](const Array& q, Parameters) { return special::ndtri(q); },
    .isf = [](const Array& q, Parameters) { return -special::ndtri(q); },
};

/// f(log(z) / s) for z > 0, else what it is at 0.
template <class F>
Array of_logarithm(const Array& z, Parameters p, const F& f, double at_zero) {
  const Array inside = z > 0;
  return where(inside, f(log(where(inside, z, 1.)) / p[0]), at_zero);
}

constexpr Family lognorm_family{
    .valid = [](Parameters p) { return p[0] > 0; },
    .log_density =
        [](const Array& z, Parameters p) {
          return of_logarithm(
              z, p, [&](const Array& u) { return standard_log_density(u) - u * p[0] - log(p[0]); },
              -INFINITY);
        },
    .cdf =
        [](const Array& z, Parameters p) {
          return of_logarithm(
              z, p, [](const Array& u) { return special::ndtr(u); }, 0);
        },
    .log_cdf =
        [](const Array& z, Parameters p) {
          return of_logarithm(
              z, p, [](const Array& u) { return special::log_ndtr(u); }, -INFINITY);
        },
    .sf =
        [](const Array& z, Parameters p) {
          return of_logarithm(
              z, p, [](const Array& u) { return special::ndtr(-u); }, 1);
        },
    .log_sf =
        [](const Array& z, Parameters p) {
          return of_logarithm(
              z, p, [](const Array& u) { return special::log_ndtr(-u); }, 0);
        },
    .ppf = [](const Array& q, Parameters p) { return exp(p[0] * special::ndtri(q)); },
    .isf = [](const Array& q, Parameters p) { return exp(-p[0] * special::ndtri(q)); },
};

/// The logarithm of the standard normal probability of [a, b], for a ≤ b, in the tails, too.
Array log_mass_between(const Array& a, const Array& b) {
  const Array right = a > 0, low = where(right, -b, a), high = where(right, -a, b);
  const Array tail = high <= 0;
  // In the lower tail, as a part of what is below `high`.
  const Array below = special::log_ndtr(where(tail, high, -1.));
  const Array of_tail = below + log1mexp(below - special::log_ndtr(where(tail, low, -2.)));
  // Around 0 both sides are added, and where they are nearly all, what is missing is subtracted.
  const Array p = where(tail, -1., low), q = where(tail, 1., high);
  const Array mass = 0.5 * (erf(q * root_half) - erf(p * root_half)), most = mass > 0.5;
  const Array of_centre = where(most, log1p(-(special::ndtr(p) + special::ndtr(-q))), log(mass));
  return where(tail, of_tail, of_centre);
}

Array truncated_log_cdf(const Array& z, const Array& a, const Array& b) {
  const Array above = z >= b, below = z <= a;
  const Array mass = log_mass_between(a, b);
  const Array low = log_mass_between(a, z) - mass, high = log_mass_between(z, b) - mass;
  const Array inside = where(low > -0.1, log1mexp(-high), low);
  return where(above, 0., where(below, -INFINITY, inside));
}

constexpr Family truncnorm_family{
    .valid = [](Parameters p) { return p[0] < p[1]; },
    .log_density =
        [](const Array& z, Parameters p) {
          const Array inside = z >= p[0] && z <= p[1];
          return where(inside, standard_log_density(z) - log_mass_between(p[0], p[1]), -INFINITY);
        },
    .cdf = [](const Array& z, Parameters p) { return exp(truncated_log_cdf(z, p[0], p[1])); },
    .log_cdf = [](const Array& z, Parameters p) { return truncated_log_cdf(z, p[0], p[1]); },
    .sf = [](const Array& z, Parameters p) { return exp(truncated_log_cdf(-z, -p[1], -p[0])); },
    .log_sf = [](const Array& z, Parameters p) { return truncated_log_cdf(-z, -p[1], -p[0]); },
};

Array gennorm_log_density(const Array& z, const Array& beta) {
  return log(0.5 * beta) - lgamma(1. / beta) - pow(abs(z), beta);
}
Array gennorm_formula(const Array& z, const Array& beta) {
  const Array tail = 0.5 * special::gammaincc(1. / beta, pow(abs(z), beta));
  return where(z < 0, tail, 1. - tail);
}
Array gennorm_below(const Array& z, const Array& beta) {
  return through_density<gennorm_formula, gennorm_log_density>(z, beta);
}

Array gennorm_quantile_formula(const Array& q, const Array& beta) {
  const Array power = 1. / beta;
  return both_sides(q, [&](const Array& tails) { return pow(special::gammainccinv(power, tails), power); });
}
Array gennorm_quantile(const Array& q, const Array& beta) {
  return through_inverse<gennorm_quantile_formula, gennorm_below, gennorm_log_density>(q, beta);
}

constexpr Family gennorm_family{
    .valid = [](Parameters p) { return p[0] > 0; },
    .log_density = [](const Array& z, Parameters p) { return gennorm_log_density(z, p[0]); },
    .cdf = [](const Array& z, Parameters p) { return gennorm_below(z, p[0]); },
    .log_cdf = [](const Array& z,
                  Parameters p) { return log_part(gennorm_below(z, p[0]), gennorm_below(-z, p[0])); },
    .sf = [](const Array& z, Parameters p) { return gennorm_below(-z, p[0]); },
    .log_sf = [](const Array& z,
                 Parameters p) { return log_part(gennorm_below(-z, p[0]), gennorm_below(z, p[0])); },
    .ppf = [](const Array& q, Parameters p) { return gennorm_quantile(q, p[0]); },
    .isf = [](const Array& q, Parameters p) { return -gennorm_quantile(q, p[0]); },
};

}  // namespace

APSIS_STATS_DENSITY(norm, (), ())
APSIS_STATS_CDF(norm, (), ())
APSIS_STATS_QUANTILE(norm, (), ())
APSIS_STATS_DENSITY(lognorm, (const Array& s, ), (s, ))
APSIS_STATS_CDF(lognorm, (const Array& s, ), (s, ))
APSIS_STATS_QUANTILE(lognorm, (const Array& s, ), (s, ))
APSIS_STATS_DENSITY(truncnorm, (const Array& a, const Array& b, ), (a, b, ))
APSIS_STATS_CDF(truncnorm, (const Array& a, const Array& b, ), (a, b, ))
APSIS_STATS_DENSITY(gennorm, (const Array& beta, ), (beta, ))
APSIS_STATS_CDF(gennorm, (const Array& beta, ), (beta, ))
APSIS_STATS_QUANTILE(gennorm, (const Array& beta, ), (beta, ))

}  // namespace apsis::stats
