#pragma once

// Distributions between bounds.
// Arguments broadcast and are promoted as in arithmetic, and integers become floating; z is (x - loc) /
// scale. Outside of the support a density is 0. Where an argument is NaN, or a parameter out of its range (as
// is a scale that is not positive), so is the result. All throw for complex numbers, and for shapes that do
// not broadcast.

#include "apsis/core/array.hpp"

namespace apsis::stats {

/// The beta distribution of a, b > 0. 0 ≤ z ≤ 1.
namespace beta {
/// (a - 1) log z + (b - 1) log(1 - z) - log(B(a, b) scale).
Array logpdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The probability of what is below x.
Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// log(cdf), exact near 0, too.
Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// The probability of what is above x: 1 - cdf, exact where that is small.
Array sf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
         Loc place = Loc::here());
/// log(sf), exact near 0, too.
Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
            Loc place = Loc::here());
/// The x whose cdf is q.
Array ppf(const Array& q, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
/// The x whose sf is q.
Array isf(const Array& q, const Array& a, const Array& b, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace beta

/// The uniform distribution. 0 ≤ z ≤ 1.
namespace uniform {
/// -log(scale).
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
}  // namespace uniform

/// Von Mises' distribution of angles, of concentration kappa ≥ 0; its density has the period 2π.
namespace vonmises {
/// kappa cos z - log(2π I₀(kappa) scale).
Array logpdf(const Array& x, const Array& kappa, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& kappa, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace vonmises

/// Cauchy's distribution wrapped around the circle, 0 < c < 1. 0 ≤ z ≤ 2π.
namespace wrapcauchy {
/// log((1 - c²) / (2π scale (1 + c² - 2c cos z))).
Array logpdf(const Array& x, const Array& c, const Array& loc = 0, const Array& scale = 1,
             Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& c, const Array& loc = 0, const Array& scale = 1,
          Loc place = Loc::here());
}  // namespace wrapcauchy

}  // namespace apsis::stats
