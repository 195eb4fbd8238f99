#pragma once

// Special functions that are composed of the elementary ones, with the names of scipy.special. Integers
// become floating; f16 and bf16 are computed in f32. Errors are those of f64 against exact values, in units
// in the last place (ULP); tests/array/special_test.cpp measures them.

#include <utility>

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
/// log Γ(x) for x ≥ 0; NaN below, where the logarithm is complex (gammaln is that of |Γ|).
Array loggamma(const Array& x, Loc loc = Loc::here());
/// The n-th derivative of digamma, an order for each element; no derivative with respect to it. NaN unless n
/// is an integer ≥ 0, and, where n > 0, for x < 0. Error up to 8 ULP; for one n that is known,
/// apsis::polygamma is more exact.
Array polygamma(const Array& n, const Array& x, Loc loc = Loc::here());
/// B₀, B₁ = -1/2, …, Bₙ, Bernoulli's numbers, within 1 ULP: [n + 1]. Throws for a negative n and dtypes that
/// are not floating.
Array bernoulli(std::int64_t n, Dtype dtype = f64, Loc loc = Loc::here());

/// Options of `comb`.
struct CombOptions {
  bool repetition = false;  ///< a thing may be taken more than once
};
/// n! / (k! (n - k)!), the number of ways to take k of n things; 0 outside of 0 ≤ k ≤ n. For integers exact
/// below 2⁵¹, where the smaller one of k and n - k is at most 30. Error up to 8 ULP.
Array comb(const Array& n, const Array& k, const CombOptions& options, Loc loc = Loc::here());
Array comb(const Array& n, const Array& k, Loc loc = Loc::here());
/// n! / (n - k)!, the number of ways to take k of n things in order; 0 outside of 0 ≤ k ≤ n. For integers
/// k ≤ 30 exact below 2⁵³. Error up to 8 ULP.
Array perm(const Array& n, const Array& k, Loc loc = Loc::here());

/// Γ(a) Γ(b) / Γ(a + b). Error up to 8 ULP for a, b > 0.
Array beta(const Array& a, const Array& b, Loc loc = Loc::here());
/// log |B(a, b)|, without the cancellation of large terms for a, b > 0.
Array betaln(const Array& a, const Array& b, Loc loc = Loc::here());
/// Γ(z + m) / Γ(z), Pochhammer's symbol; 1 for m = 0. Error up to 8 ULP for z, z + m > 0.
Array poch(const Array& z, const Array& m, Loc loc = Loc::here());
/// The logarithm of the multivariate gamma function of dimension d.
Array multigammaln(const Array& a, std::int64_t d, Loc loc = Loc::here());

// Incomplete functions. Derivatives of any order in all arguments, first ones within 1e-12.

/// ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a), the regularised lower incomplete gamma function, for a, x ≥ 0; NaN outside. Error
/// up to 8 ULP, and |log| ULP where x and a are more than 700 apart.
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

// Bessel functions of any real order v, an order for each element, which has no derivative. Derivatives with
// respect to x of any order. NaN for x < 0 where they are complex: of Y and K, and unless v is an integer.

/// The Bessel function J of the first kind. Error up to 8 ULP, where |x| > v of √(2/πx), plus |log| ULP where
/// it is small, for v > x; it grows with the root of v, as which many steps are taken. (DLMF 10)
Array jv(const Array& v, const Array& x, Loc loc = Loc::here());
/// The Bessel function Y of the second kind, with the same error.
Array yv(const Array& v, const Array& x, Loc loc = Loc::here());
Array j0(const Array& x, Loc loc = Loc::here());  ///< jv(0, x).
Array j1(const Array& x, Loc loc = Loc::here());  ///< jv(1, x).
Array y0(const Array& x, Loc loc = Loc::here());  ///< yv(0, x).
Array y1(const Array& x, Loc loc = Loc::here());  ///< yv(1, x).
/// J₀(x), J₁(x), …, Jᵥ(x) along a new first axis. Throws for a negative v. (JAX: bessel_jn(x, v=v))
Array bessel_jn(const Array& x, std::int64_t v, Loc loc = Loc::here());
/// The modified Bessel function I of the first kind. Error up to 8 ULP, plus |log| ULP.
Array iv(const Array& v, const Array& x, Loc loc = Loc::here());
/// Iᵥ(x) exp(-|x|).
Array ive(const Array& v, const Array& x, Loc loc = Loc::here());
/// The modified Bessel function K of the second kind. Error up to 8 ULP, plus |log| ULP.
Array kv(const Array& v, const Array& x, Loc loc = Loc::here());
/// Kᵥ(x) exp(x).
Array kve(const Array& v, const Array& x, Loc loc = Loc::here());
Array k0(const Array& x, Loc loc = Loc::here());   ///< kv(0, x).
Array k1(const Array& x, Loc loc = Loc::here());   ///< kv(1, x).
Array k0e(const Array& x, Loc loc = Loc::here());  ///< kve(0, x).
Array k1e(const Array& x, Loc loc = Loc::here());  ///< kve(1, x).

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
/// ∫ exp(-x t) / tⁿ dt from 1 to ∞ for x ≥ 0, an order for each element, without derivative with respect to
/// it; NaN for other x, and unless n is an integer ≥ 0.
Array expn(const Array& n, const Array& x, Loc loc = Loc::here());
/// The sine integral ∫₀ˣ sin t / t dt, and the cosine integral γ + log |x| + ∫₀ˣ (cos t - 1) / t dt. The
/// error of the second one is up to 4 ULP of 1 for |x| < 6 and near its roots.
std::pair<Array, Array> sici(const Array& x, Loc loc = Loc::here());
/// The hyperbolic integrals ∫₀ˣ sinh t / t dt and γ + log |x| + ∫₀ˣ (cosh t - 1) / t dt; near the root of the
/// second one, 0.5238, its error is a few ULP of 1.
std::pair<Array, Array> shichi(const Array& x, Loc loc = Loc::here());
/// Fresnel's integrals ∫₀ˣ sin(πt²/2) dt and ∫₀ˣ cos(πt²/2) dt.
std::pair<Array, Array> fresnel(const Array& x, Loc loc = Loc::here());
/// Owen's T, (1/2π) ∫₀ᵃ exp(-h² (1 + t²) / 2) / (1 + t²) dt.
Array owens_t(const Array& h, const Array& a, Loc loc = Loc::here());
/// The x whose erf(x) is p: erf_inv by SciPy's name.
inline Array erfinv(const Array& p, Loc loc = Loc::here()) { return apsis::erf_inv(p, loc); }
/// The x whose erfc(x) is q; infinite at 0 and 2, NaN outside.
Array erfcinv(const Array& q, Loc loc = Loc::here());
/// -∫₁ˣ log t / (t - 1) dt for x ≥ 0, Spence's function Li₂(1 - x); NaN below.
Array spence(const Array& x, Loc loc = Loc::here());
/// Σ (q + k)⁻ˢ over k = 0, 1, …, Hurwitz' zeta function, for s ≥ 1 and q > 0; infinite at s = 1 and where a
/// term is, NaN elsewhere.
Array zeta(const Array& s, const Array& q, Loc loc = Loc::here());

// Hypergeometric functions of real arguments, as loops: derivatives of any order in all arguments go through
// them.

/// Σ (a)ₖ / (b)ₖ xᵏ / k!, Kummer's function M (DLMF 13.2.2). Error up to 20 ULP, and |x| ULP, for a, b > 0;
/// for other arguments as many digits are lost as terms cancel. Infinite where b is 0 or a negative integer.
Array hyp1f1(const Array& a, const Array& b, const Array& x, Loc loc = Loc::here());
/// Σ (a)ₖ (b)ₖ / (c)ₖ xᵏ / k!, Gauss' function (DLMF 15.2.1), continued to x < -1. Infinite for x > 1, unless
/// the series ends, and where c is 0 or a negative integer. Error up to 20 ULP for moderate a, b, c.
Array hyp2f1(const Array& a, const Array& b, const Array& c, const Array& x, Loc loc = Loc::here());

/// P̄ₙᵐ(cos θ), the associated Legendre function of integers n ≥ 0 and m, with Condon and Shortley's sign,
/// times √((2n + 1) (n - m)! / (4π (n + m)!)): spherical harmonics without exp(imφ). 0 for |m| > n; NaN
/// unless n and m are integers and n ≥ 0. Error up to 8 ULP of 1 for n ≤ 100, in n steps; no derivatives with
/// respect to n and m.
Array sph_legendre_p(const Array& n, const Array& m, const Array& theta, Loc loc = Loc::here());
/// Real and imaginary part of the spherical harmonic of degree n and order m at the polar angle θ and the
/// azimuth φ: sph_legendre_p(n, m, θ) exp(imφ).
std::pair<Array, Array> sph_harm_y(const Array& n, const Array& m, const Array& theta, const Array& phi,
                                   Loc loc = Loc::here());
/// Real and imaginary part of exp(-z²) erfc(-iz), z = x + iy, Faddeeva's function w, whose real part is
/// Voigt's profile. Error up to 8 ULP of |w| for y ≥ 0; below, w is 2 exp(-z²) less its value at -z.
std::pair<Array, Array> wofz(const Array& x, const Array& y, Loc loc = Loc::here());
/// The same of a complex z, complex; real numbers become complex.
Array wofz(const Array& z, Loc loc = Loc::here());

// Transformations and losses.

/// (x^λ - 1) / λ, log x for λ = 0, with its derivatives there (Box and Cox 1964); NaN for x < 0. Error up to
/// 8 ULP.
Array boxcox(const Array& x, const Array& lambda, Loc loc = Loc::here());
/// boxcox(1 + x, λ), exact for small x.
Array boxcox1p(const Array& x, const Array& lambda, Loc loc = Loc::here());
/// The x whose boxcox(x, λ) is y. Error up to |log x| ULP, and 8.
Array inv_boxcox(const Array& y, const Array& lambda, Loc loc = Loc::here());
/// The x whose boxcox1p(x, λ) is y, exact for small x.
Array inv_boxcox1p(const Array& y, const Array& lambda, Loc loc = Loc::here());
/// r² / 2 for |r| ≤ δ, else δ (|r| - δ / 2) (Huber 1964); infinite for δ < 0.
Array huber(const Array& delta, const Array& r, Loc loc = Loc::here());
/// δ² (√(1 + (r / δ)²) - 1), smooth and near huber; infinite for δ < 0.
Array pseudo_huber(const Array& delta, const Array& r, Loc loc = Loc::here());
/// log(expit(x)) without overflow.
Array log_expit(const Array& x, Loc loc = Loc::here());

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
