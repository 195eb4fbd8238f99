#pragma once

// Distributions of several numbers at once.
// Arguments are promoted as in arithmetic, and integers become floating. Where an argument is NaN, or a
// parameter out of its range, so is the result. All throw for complex numbers, and for shapes that do not go
// together.

#include "apsis/core/array.hpp"

namespace apsis::stats {

/// Normal vectors along the last axis, with means `mean` [.., n] and covariances `cov` [.., n, n], or `cov`,
/// a number, times the identity. Other axes broadcast. If both are numbers, so are those that are
/// distributed.
namespace multivariate_normal {
/// -(x - mean)ᵀ cov⁻¹ (x - mean) / 2 - log det(2π cov) / 2: [..]. NaN where cov is not positive definite.
Array logpdf(const Array& x, const Array& mean, const Array& cov, Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& mean, const Array& cov, Loc place = Loc::here());
}  // namespace multivariate_normal

/// Dirichlet's distribution of positive numbers whose sum is 1, along axis 0 of x as in SciPy, where the last
/// one of them may be left out. `alpha` is a vector of positive numbers, one for each.
namespace dirichlet {
/// Σ (alpha - 1) log x + log(Γ(Σ alpha) / Π Γ(alpha)); x: [n, ..] or [n - 1, ..] → [..]. -∞ where the sum is
/// off by 1e-6 or more.
Array logpdf(const Array& x, const Array& alpha, Loc place = Loc::here());
/// exp(logpdf).
Array pdf(const Array& x, const Array& alpha, Loc place = Loc::here());
}  // namespace dirichlet

/// How often each of several outcomes, along the last axis of x and p, happens in n trials; p are their
/// probabilities. Other axes broadcast, also with those of n.
namespace multinomial {
/// log(n! / Π x!) + Σ x log p; x, p: [.., k], n: [..] → [..]. -∞ where Σ x is not n, or x no count.
Array logpmf(const Array& x, const Array& n, const Array& p, Loc place = Loc::here());
/// exp(logpmf).
Array pmf(const Array& x, const Array& n, const Array& p, Loc place = Loc::here());
}  // namespace multinomial

}  // namespace apsis::stats
