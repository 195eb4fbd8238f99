#pragma once

// Distributions from a point on.
// Arguments broadcast and are promoted as in arithmetic, and integers become floating; z is (x - loc) /
// scale. Outside of the support a density is 0. Where an argument is NaN, or a parameter out of its range (as
// is a scale that is not positive), so is the result. All throw for complex numbers, and for shapes that do
// not broadcast.

#include "apsis/core/array.hpp"

namespace apsis::stats {

/// The exponential distribution. z ≥ 0.
namespace expon {
/// -z - log(scale).
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
}  // namespace expon

/// The gamma distribution of shape a > 0. z ≥ 0.
namespace gamma {
/// (a - 1) log z - z - log(Γ(a) scale).
Array logpdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// log(cdf), exact near 0, too.
Array logcdf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1,
         Loc place = Loc::here());
/// log(sf), exact near 0, too.
Array logsf(const Array& x, const Array& a, const Array& loc = 0, const Array& scale = 1,
            Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& a, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& a, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace gamma

/// The distribution of the sum of df squared standard normal numbers, df > 0. z ≥ 0.
namespace chi2 {
/// (df/2 - 1) log z - z/2 - log(2^(df/2) Γ(df/2) scale).
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
}  // namespace chi2

/// Pareto's distribution of power b > 0. z ≥ 1.
namespace pareto {
/// -(b + 1) log z + log(b / scale).
Array logpdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1,
         Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& b, const Array& loc = 0, const Array& scale = 1,
            Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace pareto

/// Rayleigh's distribution: of the length of two normal numbers as a vector. z ≥ 0.
namespace rayleigh {
/// log z - z²/2 - log(scale).
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
}  // namespace rayleigh

/// Weibull's distribution of shape c > 0. z ≥ 0.
namespace weibull_min {
/// (c - 1) log z - z^c + log(c / scale).
Array logpdf(const Array& x, const Array& c, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& c, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& c, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& c, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& c, const Array& loc = 0, const Array& scale = 1,
         Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& c, const Array& loc = 0, const Array& scale = 1,
            Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& c, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& c, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace weibull_min

}  // namespace apsis::stats
