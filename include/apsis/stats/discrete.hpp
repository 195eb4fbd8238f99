#pragma once

// Distributions of counts.
// Arguments broadcast and are promoted as in arithmetic, and integers become floating; loc is added to the
// counts. Between the integers, and outside of the support, a probability is 0. Where an argument is NaN, or
// a parameter out of its range, so is the result. All throw for complex numbers, and for shapes that do not
// broadcast.

#include "apsis/core/array.hpp"

namespace apsis::stats {

/// 0 or 1, which has the probability p, 0 ≤ p ≤ 1.
namespace bernoulli {
/// log p at 1, log(1 - p) at 0.
Array logpmf(const Array& k, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// exp(logpmf).
Array pmf(const Array& k, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// The probability of k and what is below.
Array cdf(const Array& k, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// The probability of what is above k: 1 - cdf, exact where that is small.
Array sf(const Array& k, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// 0 where q ≤ 1 - p, otherwise 1, for 0 ≤ q ≤ 1.
Array ppf(const Array& q, const Array& p, const Array& loc = 0, Loc place = Loc::here());
}  // namespace bernoulli

/// How many of n ≥ 0 trials succeed, each with probability p, 0 ≤ p ≤ 1. 0 ≤ k ≤ n. As in JAX, n may be no
/// integer.
namespace binom {
/// k log p + (n - k) log(1 - p), and the logarithm of n over k.
Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// exp(logpmf).
Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// The probability of k and what is below.
Array cdf(const Array& k, const Array& n, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// The probability of what is above k: 1 - cdf, exact where that is small.
Array sf(const Array& k, const Array& n, const Array& p, const Array& loc = 0, Loc place = Loc::here());
}  // namespace binom

/// How many of n ≥ 0 trials succeed, whose probability has the beta distribution of a, b > 0. 0 ≤ k ≤ n.
namespace betabinom {
/// log(B(k + a, n - k + b) / B(a, b)), and the logarithm of n over k.
Array logpmf(const Array& k, const Array& n, const Array& a, const Array& b, const Array& loc = 0,
             Loc place = Loc::here());
/// exp(logpmf).
Array pmf(const Array& k, const Array& n, const Array& a, const Array& b, const Array& loc = 0,
          Loc place = Loc::here());
}  // namespace betabinom

/// How often one tries until the first success, of probability p, 0 < p ≤ 1. k ≥ 1.
namespace geom {
/// (k - 1) log(1 - p) + log p.
Array logpmf(const Array& k, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// exp(logpmf).
Array pmf(const Array& k, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// The probability of k and what is below.
Array cdf(const Array& k, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// The probability of what is above k: 1 - cdf, exact where that is small.
Array sf(const Array& k, const Array& p, const Array& loc = 0, Loc place = Loc::here());
}  // namespace geom

/// How many trials fail before n > 0 succeed, each with probability p, 0 < p ≤ 1. k ≥ 0. n may be no integer.
namespace nbinom {
/// n log p + k log(1 - p) + log(Γ(n + k) / (Γ(n) k!)).
Array logpmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// exp(logpmf).
Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// The probability of k and what is below.
Array cdf(const Array& k, const Array& n, const Array& p, const Array& loc = 0, Loc place = Loc::here());
/// The probability of what is above k: 1 - cdf, exact where that is small.
Array sf(const Array& k, const Array& n, const Array& p, const Array& loc = 0, Loc place = Loc::here());
}  // namespace nbinom

/// Poisson's distribution of mean mu ≥ 0. k ≥ 0.
namespace poisson {
/// k log mu - mu - log k!.
Array logpmf(const Array& k, const Array& mu, const Array& loc = 0, Loc place = Loc::here());
/// exp(logpmf).
Array pmf(const Array& k, const Array& mu, const Array& loc = 0, Loc place = Loc::here());
/// The probability of k and what is below.
Array cdf(const Array& k, const Array& mu, const Array& loc = 0, Loc place = Loc::here());
/// The probability of what is above k: 1 - cdf, exact where that is small.
Array sf(const Array& k, const Array& mu, const Array& loc = 0, Loc place = Loc::here());
/// -Σ p log p over all counts, in natural units, for mu ≥ 0; loc does not count. Within 1e-13 of f64.
Array entropy(const Array& mu, const Array& loc = 0, Loc place = Loc::here());
}  // namespace poisson

}  // namespace apsis::stats
