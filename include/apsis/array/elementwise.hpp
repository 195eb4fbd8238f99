#pragma once

// More functions of each element, as in jax.numpy. Operands are broadcast and promoted as in arithmetic;
// integers become floating where the result is no integer. All throw where the shapes do not broadcast.

#include <utility>

#include "apsis/core/array.hpp"

namespace apsis {

/// a to the power of b, of floating dtype whatever a and b are.
Array float_power(const Array& a, const Array& b, Loc loc = Loc::here());
/// floor_divide(a, b) and remainder(a, b).
std::pair<Array, Array> divmod(const Array& a, const Array& b, Loc loc = Loc::here());
/// The part of x behind the point and the part before it, both with the sign of x.
std::pair<Array, Array> modf(const Array& x, Loc loc = Loc::here());
/// m and e (i32) of x = m · 2^e, 0.5 ≤ |m| < 1; zeros, infinities and NaN are their own m, with e = 0. The
/// derivative of m holds e fixed.
std::pair<Array, Array> frexp(const Array& x, Loc loc = Loc::here());
/// x · 2^e, rounded once. Throws if e is no integer.
Array ldexp(const Array& x, const Array& e, Loc loc = Loc::here());
/// The distance from |x| to the next greater number, with the sign of x.
Array spacing(const Array& x, Loc loc = Loc::here());

/// Whether the sign bit is set: of -0 and of some NaN, too.
Array signbit(const Array& x, Loc loc = Loc::here());
/// 0 below 0, 1 above, `at_zero` at 0; NaN stays.
Array heaviside(const Array& x, const Array& at_zero, Loc loc = Loc::here());
/// The larger of a and b; if one is NaN, the other.
Array fmax(const Array& a, const Array& b, Loc loc = Loc::here());
/// The smaller of a and b; if one is NaN, the other.
Array fmin(const Array& a, const Array& b, Loc loc = Loc::here());
/// The greatest integer that divides both, not negative. Throws for other dtypes.
Array gcd(const Array& a, const Array& b, Loc loc = Loc::here());
/// The least integer that both divide, not negative; 0 if one is 0. Throws for other dtypes.
Array lcm(const Array& a, const Array& b, Loc loc = Loc::here());

/// log2(2ˣ + 2ʸ) without overflow.
Array logaddexp2(const Array& x, const Array& y, Loc loc = Loc::here());
/// sin(πx) / (πx), 1 at 0; with all its derivatives there.
Array sinc(const Array& x, Loc loc = Loc::here());
/// Degrees to radians.
Array deg2rad(const Array& x, Loc loc = Loc::here());
/// Radians to degrees.
Array rad2deg(const Array& x, Loc loc = Loc::here());
/// To a number of decimals, ties to even; a negative number of them rounds to tens, hundreds, …. Integers
/// stay as they are. Throws for integers to tens.
Array around(const Array& x, int decimals, Loc loc = Loc::here());

Array isposinf(const Array& x, Loc loc = Loc::here());  ///< Whether x is +∞.
Array isneginf(const Array& x, Loc loc = Loc::here());  ///< Whether x is -∞.

/// What `nan_to_num` puts in; empty for infinities: the greatest and the least finite number.
struct NanToNumOptions {
  Array nan = 0.;
  Array posinf = {};
  Array neginf = {};
};
/// Numbers in place of NaN and infinities.
Array nan_to_num(const Array& x, const NanToNumOptions& options = {}, Loc loc = Loc::here());

/// Options of `isclose` and `allclose`.
struct IscloseOptions {
  Array rtol = 1e-5;       ///< relative to |b|
  Array atol = 1e-8;       ///< absolute
  bool equal_nan = false;  ///< NaN is close to NaN
};
/// |a - b| ≤ atol + rtol·|b|; infinities are close to themselves.
Array isclose(const Array& a, const Array& b, const IscloseOptions& options = {}, Loc loc = Loc::here());
/// Whether all are close: a boolean scalar.
Array allclose(const Array& a, const Array& b, const IscloseOptions& options = {}, Loc loc = Loc::here());
/// Whether shapes and all elements are equal: a boolean scalar.
Array array_equal(const Array& a, const Array& b, bool equal_nan = false, Loc loc = Loc::here());
/// Whether the shapes broadcast and all elements are equal then: a boolean scalar.
Array array_equiv(const Array& a, const Array& b, Loc loc = Loc::here());

/// The number next to a in the direction of b, subnormal ones included; b where both are equal. Without
/// derivative, as in JAX. (Of one argument, `nextafter` takes subnormal numbers for zero, and has one:
/// apsis/ops/next_float.hpp.)
Array nextafter(const Array& a, const Array& b, Loc loc = Loc::here());

}  // namespace apsis
