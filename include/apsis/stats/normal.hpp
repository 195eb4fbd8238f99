#pragma once

// The normal distribution and its kin.
// Arguments broadcast and are promoted as in arithmetic, and integers become floating; z is (x - loc) /
// scale. Outside of the support a density is 0. Where an argument is NaN, or a parameter out of its range (as
// is a scale that is not positive), so is the result. All throw for complex numbers, and for shapes that do
// not broadcast.

#include "apsis/core/array.hpp"

/// Densities and distribution functions, with the names of jax.scipy.stats.
namespace apsis::stats {

/// The normal distribution of mean loc and standard deviation scale.
namespace norm {
/// -z²/2 - log(scale √2π).
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
}  // namespace norm

/// Of exp(s n) for a standard normal n, s > 0: the logarithmic normal distribution. z > 0.
namespace lognorm {
/// -(log z)²/(2s²) - log(z s scale √2π).
Array logpdf(const Array& x, const Array& s, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& s, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& s, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& s, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& s, const Array& loc = 0, const Array& scale = 1,
         Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& s, const Array& loc = 0, const Array& scale = 1,
            Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& s, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& s, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace lognorm

/// The normal distribution, cut off so that a ≤ z ≤ b: a < b are numbers of scales around loc, and may be
/// infinite.
namespace truncnorm {
/// That of norm, less the logarithm of the probability of [a, b].
Array logpdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// log(cdf), exact in both tails.
Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
         Loc place = Loc::here());
/// log(sf), exact in both tails.
Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
            Loc place = Loc::here());
}  // namespace truncnorm

/// The generalised normal distribution of power beta > 0: 1 is Laplace's, 2 the normal one.
namespace gennorm {
/// -|z|^beta + log(beta / (2 scale Γ(1/beta))).
Array logpdf(const Array& x, const Array& beta, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& beta, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& beta, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// log(cdf), exact near 0, too.
Array logcdf(const Array& x, const Array& beta, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& beta, const Array& loc = 0, const Array& scale = 1,
         Loc place = Loc::here());
/// log(sf), exact near 0, too.
Array logsf(const Array& x, const Array& beta, const Array& loc = 0, const Array& scale = 1,
            Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& beta, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& beta, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace gennorm

}  // namespace apsis::stats
