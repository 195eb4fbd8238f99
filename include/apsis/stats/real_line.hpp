#pragma once

// Distributions on all real numbers.
// Arguments broadcast and are promoted as in arithmetic, and integers become floating; z is (x - loc) /
// scale. Outside of the support a density is 0. Where an argument is NaN, or a parameter out of its range (as
// is a scale that is not positive), so is the result. All throw for complex numbers, and for shapes that do
// not broadcast.

#include "apsis/core/array.hpp"

namespace apsis::stats {

/// Cauchy's distribution.
namespace cauchy {
/// -log(π scale (1 + z²)).
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
}  // namespace cauchy

/// Laplace's distribution: an exponential one on either side.
namespace laplace {
/// -|z| - log(2 scale).
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
}  // namespace laplace

/// The logistic distribution.
namespace logistic {
/// -z - 2 log(1 + exp(-z)) - log(scale).
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
}  // namespace logistic

/// Gumbel's distribution of greatest values.
namespace gumbel_r {
/// -z - exp(-z) - log(scale).
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
}  // namespace gumbel_r

/// Gumbel's distribution of least values.
namespace gumbel_l {
/// z - exp(z) - log(scale).
Array logpdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& loc = 0, const Array& scale = 1, Loc place = Loc::here());
}  // namespace gumbel_l

/// Student's distribution of df > 0 degrees of freedom; the normal one where df is infinite.
namespace t {
/// -(df + 1)/2 log(1 + z²/df) - log(√df B(df/2, 1/2) scale).
Array logpdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// log(cdf), exact near 0, too.
Array logcdf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1,
         Loc place = Loc::here());
/// log(sf), exact near 0, too.
Array logsf(const Array& x, const Array& df, const Array& loc = 0, const Array& scale = 1,
            Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& df, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& df, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace t

}  // namespace apsis::stats
