#pragma once

// Elementary functions, elementwise, within 2 units in the last place. Integers become floating (64-bit ones
// f64, others f32); f16 and bf16 are computed in f32 and rounded. Outside its domain a function gives NaN.
// Complex numbers are taken by those that say so; branch cuts are those of C99, annex G.

#include "apsis/core/array.hpp"

namespace apsis {

/// To integers, in the same dtype; integers stay as they are.
Array floor(const Array& x, Loc loc = Loc::here());
Array ceil(const Array& x, Loc loc = Loc::here());  ///< The least integer not below x.
/// To the nearest integer, ties to even.
Array round(const Array& x, Loc loc = Loc::here());
Array trunc(const Array& x, Loc loc = Loc::here());  ///< Towards zero.

Array sqrt(const Array& x, Loc loc = Loc::here());  ///< √x.
/// 1 / sqrt(x).
Array rsqrt(const Array& x, Loc loc = Loc::here());
/// The real cube root, of negative numbers too.
Array cbrt(const Array& x, Loc loc = Loc::here());
/// sqrt(x² + y²) without overflow on the way. Its derivative at the origin is 0.
Array hypot(const Array& x, const Array& y, Loc loc = Loc::here());
/// xʸ. A C++ integer as exponent multiplies (`pow(x, 2)` is x·x, of any dtype); it must not be negative for
/// integers x. The derivative with respect to y is 0 at x = 0.
Array pow(const Array& x, const Array& y, Loc loc = Loc::here());

Array exp(const Array& x, Loc loc = Loc::here());   ///< eˣ.
Array exp2(const Array& x, Loc loc = Loc::here());  ///< 2ˣ.
/// exp(x) - 1, exact near 0.
Array expm1(const Array& x, Loc loc = Loc::here());
Array log(const Array& x, Loc loc = Loc::here());    ///< The natural logarithm.
Array log2(const Array& x, Loc loc = Loc::here());   ///< To base 2.
Array log10(const Array& x, Loc loc = Loc::here());  ///< To base 10.
/// log(1 + x), exact near 0.
Array log1p(const Array& x, Loc loc = Loc::here());
/// log(1 - exp(-x)) for x > 0, exact near 0 and far out; as jax.nn.log1mexp.
Array log1mexp(const Array& x, Loc loc = Loc::here());
/// log(exp(x) + exp(y)) without overflow.
Array logaddexp(const Array& x, const Array& y, Loc loc = Loc::here());
/// 1 / (1 + exp(-x)).
Array logistic(const Array& x, Loc loc = Loc::here());
inline Array sigmoid(const Array& x, Loc loc = Loc::here()) { return logistic(x, loc); }  ///< Another name.

Array sin(const Array& x, Loc loc = Loc::here());   ///< Of an angle in radians.
Array cos(const Array& x, Loc loc = Loc::here());   ///< Of an angle in radians.
Array tan(const Array& x, Loc loc = Loc::here());   ///< Of an angle in radians.
Array asin(const Array& x, Loc loc = Loc::here());  ///< In [-π/2, π/2].
Array acos(const Array& x, Loc loc = Loc::here());  ///< In [0, π].
Array atan(const Array& x, Loc loc = Loc::here());  ///< In [-π/2, π/2].
/// The angle of the point (x, y), in [-π, π].
Array atan2(const Array& y, const Array& x, Loc loc = Loc::here());

Array sinh(const Array& x, Loc loc = Loc::here());   ///< (eˣ - e⁻ˣ) / 2.
Array cosh(const Array& x, Loc loc = Loc::here());   ///< (eˣ + e⁻ˣ) / 2.
Array tanh(const Array& x, Loc loc = Loc::here());   ///< sinh(x) / cosh(x).
Array asinh(const Array& x, Loc loc = Loc::here());  ///< The inverse of sinh.
Array acosh(const Array& x, Loc loc = Loc::here());  ///< The inverse of cosh for x ≥ 1.
Array atanh(const Array& x, Loc loc = Loc::here());  ///< The inverse of tanh for |x| ≤ 1.

/// 2/√π ∫₀ˣ exp(-t²) dt.
Array erf(const Array& x, Loc loc = Loc::here());
/// 1 - erf(x), exact where erf(x) is near 1.
Array erfc(const Array& x, Loc loc = Loc::here());
/// The x of which erf is the argument; infinite at ±1.
Array erf_inv(const Array& x, Loc loc = Loc::here());
/// log |Γ(x)|.
Array lgamma(const Array& x, Loc loc = Loc::here());
/// The derivative of lgamma.
Array digamma(const Array& x, Loc loc = Loc::here());
/// The derivative of digamma.
Array trigamma(const Array& x, Loc loc = Loc::here());
/// The derivative of digamma of order n, 0 to 100 (0 is digamma itself). Throws for other n. Error below n +
/// 8 ULP for x > 0, and in that measure of its larger terms for x < 0. (JAX: scipy.special.polygamma)
Array polygamma(std::int64_t n, const Array& x, Loc loc = Loc::here());

}  // namespace apsis
