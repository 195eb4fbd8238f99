#include "apsis/stats/real_line.hpp"

#include <cmath>
#include <numbers>

#include "stats/support.hpp"
#include "stats/through_density.hpp"

namespace apsis::stats {
using namespace detail;
namespace {

constexpr double pi = std::numbers::pi;
constexpr double log_pi = 1.14472988584940017414;

/// The angle of the point (-z, 1): small ones are exact.
Array cauchy_below(const Array& z) { return atan2(ones_like(z), -z) / pi; }
Array cauchy_log_below(const Array& z) {
  const Array upper = z > 0;
  return where(upper, log1p(-cauchy_below(where(upper, -z, 0.))), log(cauchy_below(where(upper, 0., z))));
}
Array cauchy_quantile(const Array& q) {
  const Array low = q<0.25, high = q> 0.75;
  const Array end = where(low, q, where(high, 1. - q, 0.25));
  const Array far = 1. / tan(pi * end);
  return where(low, -far, where(high, far, tan(pi * (where(low || high, 0.5, q) - 0.5))));
}

constexpr Family cauchy_family{
    .log_density = [](const Array& z, Parameters) { return -log_pi - log1p_square(z); },
    .cdf = [](const Array& z, Parameters) { return cauchy_below(z); },
    .log_cdf = [](const Array& z, Parameters) { return cauchy_log_below(z); },
    .sf = [](const Array& z, Parameters) { return cauchy_below(-z); },
    .log_sf = [](const Array& z, Parameters) { return cauchy_log_below(-z); },
    .ppf = [](const Array& q, Parameters) { return cauchy_quantile(q); },
    .isf = [](const Array& q, Parameters) { return -cauchy_quantile(q); },
};

Array laplace_below(const Array& z) {
  const Array lower = z <= 0, half = 0.5 * exp(where(lower, z, -z));
  return where(lower, half, 1. - half);
}
Array laplace_log_below(const Array& z) {
  const Array lower = z <= 0;
  return where(lower, z - std::numbers::ln2, log1p(-0.5 * exp(where(lower, 0., -z))));
}
Array laplace_quantile(const Array& q) {
  const Array lower = q < 0.5, end = 2. * where(lower, q, 1. - q);
  return where(lower, log(end), -log(end));
}

constexpr Family laplace_family{
    .log_density = [](const Array& z, Parameters) { return -abs(z) - std::numbers::ln2; },
    .cdf = [](const Array& z, Parameters) { return laplace_below(z); },
    .log_cdf = [](const Array& z, Parameters) { return laplace_log_below(z); },
    .sf = [](const Array& z, Parameters) { return laplace_below(-z); },
    .log_sf = [](const Array& z, Parameters) { return laplace_log_below(-z); },
    .ppf = [](const Array& q, Parameters) { return laplace_quantile(q); },
    .isf = [](const Array& q, Parameters) { return -laplace_quantile(q); },
};

constexpr Family logistic_family{
    .log_density = [](const Array& z, Parameters) { return -2. * logaddexp(0.5 * z, -0.5 * z); },
    .cdf = [](const Array& z, Parameters) { return special::expit(z); },
    .log_cdf = [](const Array& z, Parameters) { return -logaddexp(-z, 0.); },
    .sf = [](const Array& z, Parameters) { return special::expit(-z); },
    .log_sf = [](const Array& z, Parameters) { return -logaddexp(z, 0.); },
    .ppf = [](const Array& q, Parameters) { return special::logit(q); },
    .isf = [](const Array& q, Parameters) { return -special::logit(q); },
};

// Gumbel's distribution of the greatest, of which that of the least is the mirror image.

Array gumbel_log_density(const Array& z) {
  const Array lowest = z == -INFINITY, y = where(lowest, 0., z);
  return where(lowest, -INFINITY, -(y + exp(-y)));
}
Array gumbel_above(const Array& z) { return -expm1(-exp(-z)); }
/// log(1 - exp(-w)) of w = exp(-z), for small w as log(w) - w / 2, since w itself may vanish.
Array gumbel_log_above(const Array& z) {
  const Array far = z > 30;
  return where(far, -z - 0.5 * exp(-z), log1mexp(exp(-where(far, 30., z))));
}

constexpr Family gumbel_r_family{
    .log_density = [](const Array& z, Parameters) { return gumbel_log_density(z); },
    .cdf = [](const Array& z, Parameters) { return exp(-exp(-z)); },
    .log_cdf = [](const Array& z, Parameters) { return -exp(-z); },
    .sf = [](const Array& z, Parameters) { return gumbel_above(z); },
    .log_sf = [](const Array& z, Parameters) { return gumbel_log_above(z); },
    .ppf = [](const Array& q, Parameters) { return -log(-log(q)); },
    .isf = [](const Array& q, Parameters) { return -log(-log1p(-q)); },
};

constexpr Family gumbel_l_family{
    .log_density = [](const Array& z, Parameters) { return gumbel_log_density(-z); },
    .cdf = [](const Array& z, Parameters) { return gumbel_above(-z); },
    .log_cdf = [](const Array& z, Parameters) { return gumbel_log_above(-z); },
    .sf = [](const Array& z, Parameters) { return exp(-exp(z)); },
    .log_sf = [](const Array& z, Parameters) { return -exp(z); },
    .ppf = [](const Array& q, Parameters) { return log(-log1p(-q)); },
    .isf = [](const Array& q, Parameters) { return log(-log(q)); },
};

// Student's t. Its factor Γ((ν + 1)/2) / (√(ν π) Γ(ν/2)) is 1 / (√ν B(ν/2, 1/2)), which has no cancellation
// for large ν.
Array t_log_density(const Array& z, const Array& df) {
  const Array normal = df == INFINITY, n = where(normal, 1., df);
  const Array value =
      -special::betaln(0.5 * n, 0.5) - 0.5 * log(n) - 0.5 * (n + 1.) * log1p_square(z / sqrt(n));
  return where(normal, -0.5 * square(z) - log_root_two_pi, value);
}
/// By the incomplete beta function of the smaller one of u² / (1 + u²) and 1 / (1 + u²), u = |z| / √ν.
Array t_formula(const Array& z, const Array& df) {
  const Array normal = df == INFINITY, n = where(normal, 1., df), u = abs(z) / sqrt(n), near = u < 1;
  const Array small = where(near, u, 1. / u), part = square(small) / (1. + square(small));
  const Array half = full_like(n, 0.5), of = 0.5 * n;
  const Array value = special::betainc(where(near, half, of), where(near, of, half), part);
  const Array tail = 0.5 * where(near, 1. - value, value);
  return where(normal, special::ndtr(z), where(z < 0, tail, 1. - tail));
}
Array t_below(const Array& z, const Array& df) { return through_density<t_formula, t_log_density>(z, df); }

/// Both 1 / (1 + u²) and u² / (1 + u²) by inverses, since one has the digits that the other lacks.
Array t_quantile_formula(const Array& q, const Array& df) {
  const Array normal = df == INFINITY, n = where(normal, 1., df), half = full_like(n, 0.5);
  const Array value = both_sides(q, [&](const Array& tails) {
    const Array x = special::betaincinv(0.5 * n, half, tails), y = special::betainccinv(half, 0.5 * n, tails);
    return sqrt(n * (y / x));
  });
  return where(normal, special::ndtri(q), value);
}
Array t_quantile(const Array& q, const Array& df) {
  return through_inverse<t_quantile_formula, t_below, t_log_density>(q, df);
}

constexpr Family t_family{
    .valid = [](Parameters p) { return p[0] > 0; },
    .log_density = [](const Array& z, Parameters p) { return t_log_density(z, p[0]); },
    .cdf = [](const Array& z, Parameters p) { return t_below(z, p[0]); },
    .log_cdf = [](const Array& z, Parameters p) { return log_part(t_below(z, p[0]), t_below(-z, p[0])); },
    .sf = [](const Array& z, Parameters p) { return t_below(-z, p[0]); },
    .log_sf = [](const Array& z, Parameters p) { return log_part(t_below(-z, p[0]), t_below(z, p[0])); },
    .ppf = [](const Array& q, Parameters p) { return t_quantile(q, p[0]); },
    .isf = [](const Array& q, Parameters p) { return -t_quantile(q, p[0]); },
};

}  // namespace

APSIS_STATS_DENSITY(cauchy, (), ())
APSIS_STATS_CDF(cauchy, (), ())
APSIS_STATS_QUANTILE(cauchy, (), ())
APSIS_STATS_DENSITY(laplace, (), ())
APSIS_STATS_CDF(laplace, (), ())
APSIS_STATS_QUANTILE(laplace, (), ())
APSIS_STATS_DENSITY(logistic, (), ())
APSIS_STATS_CDF(logistic, (), ())
APSIS_STATS_QUANTILE(logistic, (), ())
APSIS_STATS_DENSITY(gumbel_r, (), ())
APSIS_STATS_CDF(gumbel_r, (), ())
APSIS_STATS_QUANTILE(gumbel_r, (), ())
APSIS_STATS_DENSITY(gumbel_l, (), ())
APSIS_STATS_CDF(gumbel_l, (), ())
APSIS_STATS_QUANTILE(gumbel_l, (), ())
APSIS_STATS_DENSITY(t, (const Array& df, ), (df, ))
APSIS_STATS_CDF(t, (const Array& df, ), (df, ))
APSIS_STATS_QUANTILE(t, (const Array& df, ), (df, ))

}  // namespace apsis::stats
