#include "apsis/stats/bounded.hpp"

#include <cmath>
#include <numbers>

#include "stats/support.hpp"

namespace apsis::stats {
using namespace detail;
namespace {

constexpr double log_two_pi = 2 * log_root_two_pi;

/// f(z) between 0 and 1, ends included.
template <class F>
Array in_unit(const Array& z, const F& f, double below, double above) {
  const Array in = z >= 0 && z <= 1;
  return where(in, f(where(in, z, 0.5)), where(z < 0, below, Array(above)));
}

Array beta_below(const Array& z, const Array& a, const Array& b) {
  return in_unit(
      z, [&](const Array& y) { return special::betainc(a, b, y); }, 0, 1);
}
Array beta_above(const Array& z, const Array& a, const Array& b) {
  return in_unit(
      z, [&](const Array& y) { return special::betainc(b, a, 1. - y); }, 1, 0);
}

constexpr Family beta_family{
    .valid = [](Parameters p) { return p[0] > 0 && p[1] > 0; },
    .log_density =
        [](const Array& z, Parameters p) {
          const Array &a = p[0], &b = p[1];
          const auto of = [&](const Array& y) {
            return special::xlogy(a - 1., y) + special::xlog1py(b - 1., -y) - special::betaln(a, b);
          };
          return in_unit(z, of, -INFINITY, -INFINITY);
        },
    .cdf = [](const Array& z, Parameters p) { return beta_below(z, p[0], p[1]); },
    .log_cdf = [](const Array& z,
                  Parameters p) { return log_part(beta_below(z, p[0], p[1]), beta_above(z, p[0], p[1])); },
    .sf = [](const Array& z, Parameters p) { return beta_above(z, p[0], p[1]); },
    .log_sf = [](const Array& z,
                 Parameters p) { return log_part(beta_above(z, p[0], p[1]), beta_below(z, p[0], p[1])); },
    .ppf = [](const Array& q, Parameters p) { return special::betaincinv(p[0], p[1], q); },
    .isf = [](const Array& q, Parameters p) { return special::betainccinv(p[0], p[1], q); },
};

Array uniform_below(const Array& z) {
  return in_unit(
      z, [](const Array& y) { return y; }, 0, 1);
}
Array uniform_above(const Array& z) {
  return in_unit(
      z, [](const Array& y) { return 1. - y; }, 1, 0);
}

constexpr Family uniform_family{
    .log_density = [](const Array& z, Parameters) { return where(z >= 0 && z <= 1, 0. * z, -INFINITY); },
    .cdf = [](const Array& z, Parameters) { return uniform_below(z); },
    .log_cdf = [](const Array& z, Parameters) { return log(uniform_below(z)); },
    .sf = [](const Array& z, Parameters) { return uniform_above(z); },
    .log_sf = [](const Array& z, Parameters) { return log1p(-uniform_below(z)); },
    .ppf = [](const Array& q, Parameters) { return q; },
    .isf = [](const Array& q, Parameters) { return 1. - q; },
};

// Angles. With sines of half of them there is no cancellation near 0.

constexpr Family vonmises_family{
    .valid = [](Parameters p) { return p[0] >= 0; },
    .log_density =
        [](const Array& z, Parameters p) {
          const Array in = isfinite(z), y = where(in, z, 0.);
          const Array value = -2. * p[0] * square(sin(0.5 * y)) - log(special::i0e(p[0])) - log_two_pi;
          return where(in, value, -INFINITY);
        },
};

constexpr Family wrapcauchy_family{
    .valid = [](Parameters p) { return p[0] > 0 && p[0] < 1; },
    .log_density =
        [](const Array& z, Parameters p) {
          const Array& c = p[0];
          const Array in = z >= 0 && z <= 2 * std::numbers::pi, y = where(in, z, 0.);
          const Array distance = square(1. - c) + 4. * c * square(sin(0.5 * y));
          return where(in, log1p(-square(c)) - log(distance) - log_two_pi, -INFINITY);
        },
};

}  // namespace

APSIS_STATS_DENSITY(beta, (const Array& a, const Array& b, ), (a, b, ))
APSIS_STATS_CDF(beta, (const Array& a, const Array& b, ), (a, b, ))
APSIS_STATS_QUANTILE(beta, (const Array& a, const Array& b, ), (a, b, ))
APSIS_STATS_DENSITY(uniform, (), ())
APSIS_STATS_CDF(uniform, (), ())
APSIS_STATS_QUANTILE(uniform, (), ())
APSIS_STATS_DENSITY(vonmises, (const Array& kappa, ), (kappa, ))
APSIS_STATS_DENSITY(wrapcauchy, (const Array& c, ), (c, ))

}  // namespace apsis::stats
