// Inverses of the incomplete gamma and beta functions, by Newton's method for the logarithm of a probability
// as a function of t = log x, or log(x / (1 - x)). The densities of these variables are log-concave, and so
// are the probabilities of what is below and above (Prékopa 1973): a step from where the probability is too
// small does not pass the root, a step from the other side does once at most. What is sought is the smaller
// one of both probabilities, which has all digits.

#include <cmath>
#include <tuple>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "array/incomplete.hpp"
#include "array/special_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

constexpr double least_log = -660;  // of what is computed by the first term of its series

/// eᵗ of all elements, each of which stays when it is found.
struct Search {
  Array at, going, steps;
};

/// How much log(probability / wanted) is at eᵗ, and its derivative by t.
struct Level {
  Array miss, rate;
};
/// Where the probability, or its derivative, underflows, by the first term of its logarithm.
Level level_of(const Array& value, const Array& slope, const Array& wanted, const Level& first) {
  const Array there = value > 0 && slope > 0, safe = where(there, value, 1.);
  return {where(there, log(safe / wanted), first.miss - log(wanted)), where(there, slope / safe, first.rate)};
}

/// The eᵗ whose level has no miss, but where it is `known`. Steps of t end at `longest`.
template <class F>
Array found(const F& level, const Array& start, const Array& known, double longest) {
  const auto next = [&](const Search& s) {
    const Level l = level(s.at);
    const Array move = minimum(-l.miss / l.rate, longest);
    // The miss is squared with each step. Where the probability is steep, x has no more digits.
    const Array more = s.going && abs(l.miss) > 1e-8 && abs(move) > 1e-15;
    return Search{where(s.going, clip(s.at * exp(move), 1e-300, 1e300), s.at), more, s.steps + 1};
  };
  // It takes 2 steps, seldom 10; the bound is for searches that rounding would keep going.
  const auto unfinished = [](const Search& s) { return any(s.going) && s.steps < 60; };
  const Search from{clip(start, 1e-300, 1e300), !known, Array(std::int64_t{0})};
  return while_loop(unfinished, next, from, {.kind = Loop::Lax}).at;
}

/// log(p), by p or by 1 - p, whichever is the smaller one.
Array log_of(const Array& p, const Array& rest) {
  const Array small = p <= 0.5;
  return where(small, log(where(small, p, 1.)), log1p(-where(small, 0., rest)));
}

/// x with P(a, x) = p and Q(a, x) = q, for finite a > 0 and p, q > 0 whose sum is 1.
Array gamma_quantile(const Array& a, const Array& p, const Array& q) {
  const Array lower = p <= 0.5, wanted = where(lower, p, q), quantile = ndtri(wanted);
  // P(a, x) is xᵃ / Γ(a + 1) for small x, and less than that.
  const Array log_first = (log_of(p, q) + lgamma(a + 1.)) / a, known = log_first < least_log;
  // Wilson and Hilferty (1931): the cube root is nearly normal.
  const Array root = 1. - 1. / (9. * a) + where(lower, quantile, -quantile) / (3. * sqrt(a));
  const Array bounded = where(a > 0.5, maximum(root, 0.), 0.);
  const Array start = maximum(exp(minimum(log_first, 700.)), a * bounded * bounded * bounded);
  // Far above, Q(a, x) is nearly xᵃ⁻¹ e⁻ˣ / Γ(a).
  const Array far = -log(where(lower, 0.5, q)) - lgamma(a);
  const Array further = far + (a - 1.) * log(maximum(far, 1.));
  const Array tail = far + (a - 1.) * log(maximum(further, 1.));
  const Array power = where(lower, a, a - 1.), constant = where(lower, lgamma(a + 1.), lgamma(a));
  const auto level = [&](const Array& x) {
    const Array value = where(lower, incomplete_gamma(a, x, true), incomplete_gamma(a, x, false));
    const Level l = level_of(value, gamma_slope(a, x), wanted, {power * log(x) - x - constant, power - x});
    return Level{l.miss, where(lower || l.rate < 0, l.rate, -l.rate)};
  };
  // Below, the probability above hardly falls: a step from there would be too long.
  const Array x = found(level, where(!lower && tail > 2. * a + 2., tail, start), known, 2);
  return where(known, exp(log_first), x);
}

/// Guesses of log(x / (1 - x)), of which [c, d > 1] is by Abramowitz and Stegun, 26.5.22.
Array log_odds_guess(const Array& c, const Array& d, const Array& wanted) {
  const Array large = c > 1 && d > 1, a = where(large, c, 2.), b = where(large, d, 2.);
  const Array of_a = 1. / (2. * a - 1.), of_b = 1. / (2. * b - 1.);
  const Array y = -ndtri(wanted), lambda = (y * y - 3.) / 6., h = 2. / (of_a + of_b);
  const Array w = y * sqrt(h + lambda) / h - (of_b - of_a) * (lambda + 5. / 6 - 2. / (3. * h));
  // Of the density cut in two at its mean, x^(c-1) below and (1 - x)^(d-1) above.
  const Array below = exp(c * log(c / (c + d))) / c, above = exp(d * log(d / (c + d))) / d,
              both = below + above;
  const Array left = wanted * both < below;
  const Array log_x = minimum((log(c * both) + log(wanted)) / c, -1e-10);
  const Array log_y = minimum((log(d * both) + log1p(-wanted)) / d, -1e-10);
  const Array by_parts = where(left, log_x - log(-expm1(log_x)), log(-expm1(log_y)) - log_y);
  return where(large, log(a / b) - 2. * w, by_parts);
}

/// x / (1 - x) with I(a, b, x) = p = 1 - q, for finite a, b > 0 and p, q > 0.
Array beta_odds(const Array& a, const Array& b, const Array& p, const Array& q) {
  const Array swapped = p > 0.5, wanted = where(swapped, q, p);
  const Array c = where(swapped, b, a), d = where(swapped, a, b), log_beta = betaln(c, d);
  // I(c, d, x) is xᶜ / (c B(c, d)) for small x, and 1 less yᵈ / (d B(c, d)) for small y.
  const Array log_x = (log(wanted) + log(c) + log_beta) / c;
  const Array log_y = (log1p(-wanted) + log(d) + log_beta) / d;
  const Array low = log_x < least_log, high = log_y < least_log;
  const auto level = [&](const Array& odds) {
    const Array x = odds / (1. + odds), y = 1. / (1. + odds);
    const Array log_rest = log1p(odds),
                log_first = c * (log(odds) - log_rest) - d * log_rest - log(c) - log_beta;
    return level_of(incomplete_beta(c, d, x, y), beta_slope(c, d, x, y), wanted, {log_first, c * y - d * x});
  };
  const Array start = exp(clip(log_odds_guess(c, d, wanted), -690., 690.));
  const Array odds = found(level, start, low || high, 1400);
  const Array known = where(low, exp(log_x), where(high, exp(-log_y), odds));
  return where(swapped, 1. / known, known);
}

using Two = std::tuple<Array, Array>;
using Three = std::tuple<Array, Array, Array>;

/// Whether p is one of a probability that has an inverse inside of the support.
Array is_plain(const Array& a, const Array& p) { return a > 0 && isfinite(a) && p > 0 && p < 1; }

template <bool complement>
Array gamma_inverse_value(const Array& a, const Array& p) {
  const Array plain = is_plain(a, p), q = where(plain, p, 0.5), c = where(plain, a, 1.);
  const Array x = complement ? gamma_quantile(c, 1. - q, q) : gamma_quantile(c, q, 1. - q);
  const Array zero = p == (complement ? 1 : 0), end = p == (complement ? 0 : 1);
  const Array edge = where(end, INFINITY, where(zero || (a == 0 && p >= 0 && p <= 1), 0., NAN));
  return where(plain, x, where(a >= 0 && isfinite(a), edge, NAN));
}

template <bool complement>
Array gamma_inverse(const Array& a, const Array& p) {
  return custom_jvp(gamma_inverse_value<complement>, [](const Two& at, const Two& along) {
    const auto& [c, q] = at;
    const auto& [dc, dq] = along;
    const Array x = gamma_inverse<complement>(c, q);
    const Array inside = x > 0 && x < INFINITY, y = where(inside, x, 1.), d = where(inside, c, 1.);
    const Array by_p = y / gamma_slope(d, y);
    // P is xᵃ / Γ(a + 1) near 0.
    const Array at_zero = where(c > 1, INFINITY, where(c == 1, 1., 0.));
    const Array outside = where(x == 0, at_zero, where(x == INFINITY, INFINITY, NAN));
    const Array along_p = where(inside, by_p, outside);
    return std::pair{x, dq * (complement ? -along_p : along_p) +
                            dc * where(inside, y * log_gamma_quantile_slope(d, log(y)), 0.)};
  })(a, p);
}

template <bool complement>
Array beta_odds_value(const Array& a, const Array& b, const Array& p) {
  return complement ? beta_odds(a, b, 1. - p, p) : beta_odds(a, b, p, 1. - p);
}

struct Fractions {
  Array x, y;
};
/// x and y = 1 - x by their quotient, which may be 0 or infinite.
Fractions fractions(const Array& odds) {
  const Array most = odds > 1, over = where(most, odds, 1.), under = where(most, 1., odds);
  const Array high = 1. / (1. + 1. / over), low = 1. / (1. + over);
  return {where(most, high, under / (1. + under)), where(most, low, 1. / (1. + under))};
}

/// For 0 < p < 1.
template <bool complement>
Array beta_odds_of(const Array& a, const Array& b, const Array& p) {
  return custom_jvp(beta_odds_value<complement>, [](const Three& at, const Three& along) {
    const auto& [c, d, q] = at;
    const auto& [dc, dd, dq] = along;
    const Array odds = beta_odds_of<complement>(c, d, q);
    const Array inside = odds > 0 && odds < INFINITY;
    const auto [x, y] = fractions(where(inside, odds, 1.));
    const Array by_p = 1. / beta_slope(c, d, x, y);
    const auto [by_c, by_d] = log_odds_quantile_slopes(c, d, x, y);
    const Array log_slope = dq * (complement ? -by_p : by_p) + dc * by_c + dd * by_d;
    return std::pair{odds, where(inside, odds * log_slope, 0.)};
  })(a, b, p);
}

/// 0, with a derivative.
Array slope_alone(const Array& p, const Array& slope) {
  return custom_jvp([](const Array& q, const Array&) { return zeros_like(q); },
                    [](const Two& at, const Two& along) {
                      const auto& [q, s] = at;
                      return std::pair{zeros_like(q), std::get<0>(along) * s};
                    })(p, slope);
}

template <bool complement>
Array beta_inverse(const Array& a, const Array& b, const Array& p) {
  const Array plain = is_plain(a, p) && b > 0 && isfinite(b);
  const Array c = where(plain, a, 1.), d = where(plain, b, 1.), q = where(plain, p, 0.5);
  const Array x = fractions(beta_odds_of<complement>(c, d, q)).x;
  const Array edge = a > 0 && b > 0 && isfinite(a) && isfinite(b) && (p == 0 || p == 1);
  const Array zero = p == (complement ? 1 : 0), near = where(zero, a, b), other = where(zero, b, a);
  const Array slope = where(near > 1, INFINITY, where(near == 1, 1. / other, 0.));
  const Array end = where(zero, 0., 1.) + slope_alone(p, where(edge, complement ? -slope : slope, 0.));
  return where(plain, x, where(edge, end, NAN));
}

}  // namespace

Array gammaincinv(const Array& a, const Array& p, Loc loc) {
  const LocScope place(loc);
  return in_f64("gammaincinv", {a, p}, [](const auto& v) { return gamma_inverse<false>(v[0], v[1]); });
}

Array gammainccinv(const Array& a, const Array& q, Loc loc) {
  const LocScope place(loc);
  return in_f64("gammainccinv", {a, q}, [](const auto& v) { return gamma_inverse<true>(v[0], v[1]); });
}

Array betaincinv(const Array& a, const Array& b, const Array& p, Loc loc) {
  const LocScope place(loc);
  return in_f64("betaincinv", {a, b, p}, [](const auto& v) { return beta_inverse<false>(v[0], v[1], v[2]); });
}

Array betainccinv(const Array& a, const Array& b, const Array& q, Loc loc) {
  const LocScope place(loc);
  return in_f64("betainccinv", {a, b, q}, [](const auto& v) { return beta_inverse<true>(v[0], v[1], v[2]); });
}

}  // namespace apsis::special
