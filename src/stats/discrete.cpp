#include "apsis/stats/discrete.hpp"

#include <cmath>

#include "apsis/array/special.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/shape.hpp"
#include "stats/support.hpp"

namespace apsis::stats {
using namespace detail;
namespace {

/// f(k) for 0 ≤ k ≤ n, else `below` or `above`.
template <class F>
Array up_to(const Array& k, const Array& n, const F& f, double below, double above) {
  const Array in = k >= 0 && k <= n;
  return where(in, f(where(in, k, 0.)), where(k < 0, below, Array(above)));
}
/// f(k) for low ≤ k < ∞, else `below` or `above`.
template <class F>
Array from(const Array& k, double low, const F& f, double below, double above) {
  const Array in = k >= low && k < INFINITY;
  return where(in, f(where(in, k, low)), where(k < low, below, Array(above)));
}

/// The logarithm of n over k.
Array log_choose(const Array& n, const Array& k) { return -(log1p(n) + special::betaln(n - k + 1., k + 1.)); }

constexpr CountFamily bernoulli_family{
    .valid = [](Parameters p) { return p[0] >= 0 && p[0] <= 1; },
    .log_mass =
        [](const Array& k, Parameters p) {
          const Array yes = k == 1, no = k == 0;
          return where(yes, log(p[0]), where(no, log1p(-p[0]), -INFINITY));
        },
    .cdf = [](const Array& k, Parameters p) { return where(k < 0, 0., where(k < 1, 1. - p[0], 1.)); },
    .sf = [](const Array& k, Parameters p) { return where(k < 0, 1., where(k < 1, p[0], 0.)); },
};

constexpr CountFamily binom_family{
    .valid = [](Parameters p) { return p[0] >= 0 && p[1] >= 0 && p[1] <= 1; },
    .log_mass =
        [](const Array& k, Parameters p) {
          const auto of = [&](const Array& y) {
            return log_choose(p[0], y) + special::xlogy(y, p[1]) + special::xlog1py(p[0] - y, -p[1]);
          };
          return up_to(k, p[0], of, -INFINITY, -INFINITY);
        },
    .cdf =
        [](const Array& k, Parameters p) {
          const auto of = [&](const Array& y) { return special::betainc(p[0] - y, y + 1., 1. - p[1]); };
          return up_to(k, p[0] - 0.5, of, 0, 1);
        },
    .sf =
        [](const Array& k, Parameters p) {
          const auto of = [&](const Array& y) { return special::betainc(y + 1., p[0] - y, p[1]); };
          return up_to(k, p[0] - 0.5, of, 1, 0);
        },
};

constexpr CountFamily betabinom_family{
    .valid = [](Parameters p) { return p[0] >= 0 && p[1] > 0 && p[2] > 0; },
    .log_mass =
        [](const Array& k, Parameters p) {
          const Array &n = p[0], &a = p[1], &b = p[2];
          const auto of = [&](const Array& y) {
            return log_choose(n, y) + (special::betaln(y + a, n - y + b) - special::betaln(a, b));
          };
          return up_to(k, n, of, -INFINITY, -INFINITY);
        },
};

constexpr CountFamily geom_family{
    .valid = [](Parameters p) { return p[0] > 0 && p[0] <= 1; },
    .log_mass =
        [](const Array& k, Parameters p) {
          const auto of = [&](const Array& y) { return special::xlog1py(y - 1., -p[0]) + log(p[0]); };
          return from(k, 1, of, -INFINITY, -INFINITY);
        },
    .cdf =
        [](const Array& k, Parameters p) {
          return from(
              k, 1, [&](const Array& y) { return -expm1(y * log1p(-p[0])); }, 0, 1);
        },
    .sf =
        [](const Array& k, Parameters p) {
          return from(
              k, 1, [&](const Array& y) { return exp(y * log1p(-p[0])); }, 1, 0);
        },
};

constexpr CountFamily nbinom_family{
    .valid = [](Parameters p) { return p[0] > 0 && p[1] > 0 && p[1] <= 1; },
    .log_mass =
        [](const Array& k, Parameters p) {
          const Array& n = p[0];
          // Γ(n + k) / (Γ(n) k!) is 1 / ((n + k) B(n, k + 1)).
          const auto of = [&](const Array& y) {
            return special::xlogy(n, p[1]) + special::xlog1py(y, -p[1]) -
                   (log(n + y) + special::betaln(n, y + 1.));
          };
          return from(k, 0, of, -INFINITY, -INFINITY);
        },
    .cdf =
        [](const Array& k, Parameters p) {
          return from(
              k, 0, [&](const Array& y) { return special::betainc(p[0], y + 1., p[1]); }, 0, 1);
        },
    .sf =
        [](const Array& k, Parameters p) {
          return from(
              k, 0, [&](const Array& y) { return special::betainc(y + 1., p[0], 1. - p[1]); }, 1, 0);
        },
};

constexpr CountFamily poisson_family{
    .valid = [](Parameters p) { return p[0] >= 0; },
    .log_mass =
        [](const Array& k, Parameters p) {
          const auto of = [&](const Array& y) {
            return special::xlogy(y, p[0]) - p[0] - special::gammaln(y + 1.);
          };
          return from(k, 0, of, -INFINITY, -INFINITY);
        },
    .cdf =
        [](const Array& k, Parameters p) {
          return from(
              k, 0, [&](const Array& y) { return special::gammaincc(y + 1., p[0]); }, 0, 1);
        },
    .sf =
        [](const Array& k, Parameters p) {
          return from(
              k, 0, [&](const Array& y) { return special::gammainc(y + 1., p[0]); }, 1, 0);
        },
};

}  // namespace

APSIS_STATS_COUNTS(bernoulli, (const Array& p, ), (p, ))
APSIS_STATS_COUNT_CDF(bernoulli, (const Array& p, ), (p, ))
APSIS_STATS_COUNTS(binom, (const Array& n, const Array& p, ), (n, p, ))
APSIS_STATS_COUNT_CDF(binom, (const Array& n, const Array& p, ), (n, p, ))
APSIS_STATS_COUNTS(betabinom, (const Array& n, const Array& a, const Array& b, ), (n, a, b, ))
APSIS_STATS_COUNTS(geom, (const Array& p, ), (p, ))
APSIS_STATS_COUNT_CDF(geom, (const Array& p, ), (p, ))
APSIS_STATS_COUNTS(nbinom, (const Array& n, const Array& p, ), (n, p, ))
APSIS_STATS_COUNT_CDF(nbinom, (const Array& n, const Array& p, ), (n, p, ))
APSIS_STATS_COUNTS(poisson, (const Array& mu, ), (mu, ))
APSIS_STATS_COUNT_CDF(poisson, (const Array& mu, ), (mu, ))

Array bernoulli::ppf(const Array& q, const Array& p, const Array& loc, Loc place) {
  const LocScope scope(place);
  const Arguments of = arguments("bernoulli::ppf", {q, p, loc});
  const Array &at = of.v[0], &chance = of.v[1];
  const Array defined = at >= 0 && at <= 1 && chance >= 0 && chance <= 1;
  return finished(where(defined, of.v[2] + where(at <= 1. - chance, 0., ones_like(at)), NAN), of);
}

// As a sum of 384 probabilities, from μ = 200 on by its asymptotic series (Evans, Boersma, Blachman and
// Jagers 1988).
Array poisson::entropy(const Array& mu, const Array& loc, Loc place) {
  const LocScope scope(place);
  const Arguments of = arguments("poisson::entropy", {mu, loc});
  const Array m = astype(of.v[0], f64), far = m >= 200, near = m >= 0 && !far;
  const Array k = astype(arange(384), f64), at = expand_dims(where(near, m, 1.), -1);
  const Array logarithm = special::xlogy(k, at) - at - special::gammaln(k + 1.), mass = exp(logarithm),
              there = mass > 0;
  const Array summed = -sum(where(there, mass * where(there, logarithm, 0.), 0.), {.axis = -1});
  const Array y = where(far, m, 200.), r = 1. / y;
  const Array tail =
      r *
      (1. / 12 + r * (1. / 24 + r * (19. / 360 + r * (9. / 80 + r * (863. / 2520 + r * (1375. / 1008))))));
  const Array series = 0.5 * log(y) + (log_root_two_pi + 0.5) - tail;
  return finished(where(far, series, where(near, summed, NAN)) + astype(0. * of.v[1], f64), of);
}

}  // namespace apsis::stats
