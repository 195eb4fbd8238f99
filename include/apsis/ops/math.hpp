#pragma once

// Elementary functions, elementwise, within 2 units in the last place. Integers become floating (64-bit ones f64, others
// f32); f16 and bf16 are computed in f32 and rounded. Outside its domain a function gives NaN. All throw for complex.

#include "apsis/core/array.hpp"

namespace apsis {

/// To integers, in the same dtype; integers stay as they are.
Array floor(const Array& x, Loc loc = Loc::here());
Array ceil(const Array& x, Loc loc = Loc::here());
/// To the nearest integer, ties to even.
Array round(const Array& x, Loc loc = Loc::here());
Array trunc(const Array& x, Loc loc = Loc::here());

Array sqrt(const Array& x, Loc loc = Loc::here());
/// 1 / sqrt(x).
Array rsqrt(const Array& x, Loc loc = Loc::here());
/// The real cube root, of negative numbers too.
Array cbrt(const Array& x, Loc loc = Loc::here());
/// sqrt(x² + y²) without overflow on the way. Its derivative at the origin is 0.
Array hypot(const Array& x, const Array& y, Loc loc = Loc::here());
/// xʸ. A C++ integer as exponent multiplies (`pow(x, 2)` is x·x, of any dtype); it must not be negative for integers x.
/// The derivative with respect to y is 0 at x = 0.
Array pow(const Array& x, const Array& y, Loc loc = Loc::here());

Array exp(const Array& x, Loc loc = Loc::here());
Array exp2(const Array& x, Loc loc = Loc::here());
/// exp(x) - 1, exact near 0.
Array expm1(const Array& x, Loc loc = Loc::here());
Array log(const Array& x, Loc loc = Loc::here());
Array log2(const Array& x, Loc loc = Loc::here());
Array log10(const Array& x, Loc loc = Loc::here());
/// log(1 + x), exact near 0.
Array log1p(const Array& x, Loc loc = Loc::here());
/// log(exp(x) + exp(y)) without overflow.
Array logaddexp(const Array& x, const Array& y, Loc loc = Loc::here());
/// 1 / (1 + exp(-x)).
Array logistic(const Array& x, Loc loc = Loc::here());
inline Array sigmoid(const Array& x, Loc loc = Loc::here()) { return logistic(x, loc); }

Array sin(const Array& x, Loc loc = Loc::here());
Array cos(const Array& x, Loc loc = Loc::here());
Array tan(const Array& x, Loc loc = Loc::here());
Array asin(const Array& x, Loc loc = Loc::here());
Array acos(const Array& x, Loc loc = Loc::here());
Array atan(const Array& x, Loc loc = Loc::here());
/// The angle of the point (x, y), in [-π, π].
Array atan2(const Array& y, const Array& x, Loc loc = Loc::here());

Array sinh(const Array& x, Loc loc = Loc::here());
Array cosh(const Array& x, Loc loc = Loc::here());
Array tanh(const Array& x, Loc loc = Loc::here());
Array asinh(const Array& x, Loc loc = Loc::here());
Array acosh(const Array& x, Loc loc = Loc::here());
Array atanh(const Array& x, Loc loc = Loc::here());

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
/// The derivative of digamma; it has no derivative itself.
Array trigamma(const Array& x, Loc loc = Loc::here());

}  // namespace apsis
