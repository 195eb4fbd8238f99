#pragma once

// Arithmetic, elementwise. Operands are broadcast as in NumPy and promoted as in JAX: a C++ scalar takes the
// array's dtype. All throw where the shapes do not broadcast, or for a dtype that the operation does not
// take.

#include "apsis/core/array.hpp"

namespace apsis {

/// a + b; on booleans, or.
Array operator+(const Operand& a, const Operand& b);
/// a - b. Integers wrap. Throws for booleans.
Array operator-(const Operand& a, const Operand& b);
/// a · b; on booleans, and. Of a complex number and a real one: each part times the real one, as in C99.
Array operator*(const Operand& a, const Operand& b);
/// True division: integers become floating (64-bit ones f64, others f32). Of a complex number by a real one:
/// each part by it.
Array operator/(const Operand& a, const Operand& b);
/// a - b·floor(a / b), with the sign of b, as Python's %. Integers: 0 where b is 0.
Array operator%(const Operand& a, const Operand& b);
/// -a. Throws for booleans.
Array operator-(const Operand& a);
/// a itself.
Array operator+(const Operand& a);

// `x += y` makes x a handle on the new array; other handles on the old one keep it.
Array& operator+=(Array& a, const Operand& b);  ///< x = x + y.
Array& operator-=(Array& a, const Operand& b);  ///< x = x - y.
Array& operator*=(Array& a, const Operand& b);  ///< x = x * y.
Array& operator/=(Array& a, const Operand& b);  ///< x = x / y.
Array& operator%=(Array& a, const Operand& b);  ///< x = x % y.

/// |x|. The smallest signed integer stays as it is. Its derivative at 0 is 1, as in JAX.
Array abs(const Array& x, Loc loc = Loc::here());
/// -1, 0 or 1; zeros keep their sign, NaN stays.
Array sign(const Array& x, Loc loc = Loc::here());
/// x².
Array square(const Array& x, Loc loc = Loc::here());
/// 1 / x; integers become floating.
Array reciprocal(const Array& x, Loc loc = Loc::here());
/// a·b + c, rounded once. Integers become floating.
Array fma(const Array& a, const Array& b, const Array& c, Loc loc = Loc::here());
/// floor(a / b). Integers where b is 0, as JAX: 0 gives -1, others -2; unsigned ones give the greatest.
Array floor_divide(const Array& a, const Array& b, Loc loc = Loc::here());
/// The same as a % b.
Array remainder(const Array& a, const Array& b, Loc loc = Loc::here());
/// a - b·trunc(a / b), with the sign of a, as C's fmod. Exact.
Array fmod(const Array& a, const Array& b, Loc loc = Loc::here());
/// The magnitude of a with the sign of b. Integers become floating.
Array copysign(const Array& a, const Array& b, Loc loc = Loc::here());

}  // namespace apsis
