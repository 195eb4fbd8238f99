#pragma once

// Special functions that are composed of the elementary ones, with the names of scipy.special. Integers
// become floating; f16 and bf16 are computed in f32. Errors are those of f64 against exact values, in units
// in the last place (ULP); tests/array/special_test.cpp measures them.

#include "apsis/ops/math.hpp"

/// Special functions, with the names of scipy.special.
namespace apsis::special {

/// Γ(x). NaN at the negative integers and -∞, infinite at 0 with its sign. Error up to 10 ULP.
Array gamma(const Array& x, Loc loc = Loc::here());
/// The sign of Γ(x); NaN where Γ has none.
Array gammasgn(const Array& x, Loc loc = Loc::here());
/// log |Γ(x)|: lgamma by SciPy's name.
inline Array gammaln(const Array& x, Loc loc = Loc::here()) { return apsis::lgamma(x, loc); }
/// 1 / (1 + exp(-x)): logistic by SciPy's name.
inline Array expit(const Array& x, Loc loc = Loc::here()) { return apsis::logistic(x, loc); }
/// n! = Γ(n + 1), 0 for n < 0. Error up to 10 ULP.
Array factorial(const Array& n, Loc loc = Loc::here());
/// Γ(a) Γ(b) / Γ(a + b). Error up to 40 ULP while a + b < 20, then up to |log| ULP.
Array beta(const Array& a, const Array& b, Loc loc = Loc::here());
/// log |B(a, b)|, without the cancellation of large terms for a, b > 0.
Array betaln(const Array& a, const Array& b, Loc loc = Loc::here());
/// Γ(z + m) / Γ(z), Pochhammer's symbol; 1 for m = 0.
Array poch(const Array& z, const Array& m, Loc loc = Loc::here());
/// The logarithm of the multivariate gamma function of dimension d.
Array multigammaln(const Array& a, std::int64_t d, Loc loc = Loc::here());

// Incomplete functions. Derivatives of any order in all arguments, first ones within 1e-12.

/// ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a), the regularised lower incomplete gamma function, for a, x ≥ 0; NaN outside. Error
/// up to 20 ULP, and |log| ULP far in the tail.
Array gammainc(const Array& a, const Array& x, Loc loc = Loc::here());
/// 1 - gammainc(a, x), exact where that is near 1, with the same error.
Array gammaincc(const Array& a, const Array& x, Loc loc = Loc::here());
/// ∫₀ˣ tᵃ⁻¹ (1 - t)ᵇ⁻¹ dt / B(a, b), the regularised incomplete beta function, for a, b > 0 and x in [0, 1];
/// NaN outside. Error up to 60 ULP, and |log| ULP far in the tail; where b < 1 and (1 - x) a < 3, that many
/// ULP of 1.
Array betainc(const Array& a, const Array& b, const Array& x, Loc loc = Loc::here());

// Their inverses, with derivatives of any order in all arguments: as exact as the error of the function
// allows.

/// The x whose gammainc(a, x) is p, for a ≥ 0 and p in [0, 1]; NaN outside, and for infinite a.
Array gammaincinv(const Array& a, const Array& p, Loc loc = Loc::here());
/// The x whose gammaincc(a, x) is q, otherwise as gammaincinv.
Array gammainccinv(const Array& a, const Array& q, Loc loc = Loc::here());
/// The x whose betainc(a, b, x) is p, for finite a, b > 0 and p in [0, 1]; NaN outside.
Array betaincinv(const Array& a, const Array& b, const Array& p, Loc loc = Loc::here());
/// The x whose 1 - betainc(a, b, x) is q, otherwise as betaincinv.
Array betainccinv(const Array& a, const Array& b, const Array& q, Loc loc = Loc::here());

// Bessel functions and integrals, to a few ULP.

/// The modified Bessel function I₀; infinite from 714 on.
Array i0(const Array& x, Loc loc = Loc::here());
/// I₀(x) exp(-|x|).
Array i0e(const Array& x, Loc loc = Loc::here());
/// The modified Bessel function I₁.
Array i1(const Array& x, Loc loc = Loc::here());
/// I₁(x) exp(-|x|).
Array i1e(const Array& x, Loc loc = Loc::here());
/// exp(x²) erfc(x), without overflow for x > 0.
Array erfcx(const Array& x, Loc loc = Loc::here());
/// exp(-x²) ∫₀ˣ exp(t²) dt, Dawson's integral.
Array dawsn(const Array& x, Loc loc = Loc::here());
/// ∫ₓ^∞ exp(-t) / t dt for x ≥ 0; NaN below.
Array exp1(const Array& x, Loc loc = Loc::here());
/// The principal value of ∫ exp(t) / t dt from -∞ to x, the exponential integral Ei. Near its root at 0.3725
/// the error is a few ULP of 1.
Array expi(const Array& x, Loc loc = Loc::here());
/// -∫₁ˣ log t / (t - 1) dt for x ≥ 0, Spence's function Li₂(1 - x); NaN below.
Array spence(const Array& x, Loc loc = Loc::here());
/// Σ (q + k)⁻ˢ over k = 0, 1, …, Hurwitz' zeta function, for s ≥ 1 and q > 0; infinite at s = 1 and where a
/// term is, NaN elsewhere.
Array zeta(const Array& s, const Array& q, Loc loc = Loc::here());

/// log(x / (1 - x)), exact near 1/2. Error up to 4 ULP.
Array logit(const Array& x, Loc loc = Loc::here());
/// x log(y), 0 where x is 0 (and y is no NaN).
Array xlogy(const Array& x, const Array& y, Loc loc = Loc::here());
/// x log(1 + y), 0 where x is 0 (and y is no NaN).
Array xlog1py(const Array& x, const Array& y, Loc loc = Loc::here());
/// -x log(x); 0 at 0, -∞ below.
Array entr(const Array& x, Loc loc = Loc::here());
/// p log(p / q); 0 where p is 0 and q ≥ 0, ∞ elsewhere outside of p, q > 0.
Array rel_entr(const Array& p, const Array& q, Loc loc = Loc::here());
/// p log(p / q) - p + q, otherwise as rel_entr.
Array kl_div(const Array& p, const Array& q, Loc loc = Loc::here());

/// The probability that a standard normal number is below x. Error up to 5 ULP, in the lower tail, too.
Array ndtr(const Array& x, Loc loc = Loc::here());
/// log(ndtr(x)) without underflow. Error up to 8 ULP.
Array log_ndtr(const Array& x, Loc loc = Loc::here());
/// The x whose ndtr is p; infinite at 0 and 1, NaN outside. Error up to 10 ULP (near 1/2 relative to 1/2).
Array ndtri(const Array& p, Loc loc = Loc::here());

}  // namespace apsis::special
