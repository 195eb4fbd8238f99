#pragma once

// Logic on truth values (anything not 0 is true), and on the bits of integers. Elementwise, broadcast and
// promoted as in arithmetic.

#include "apsis/core/array.hpp"

namespace apsis {

Array logical_and(const Array& a, const Array& b, Loc loc = Loc::here());  ///< Both.
Array logical_or(const Array& a, const Array& b, Loc loc = Loc::here());   ///< Either or both.
Array logical_xor(const Array& a, const Array& b, Loc loc = Loc::here());  ///< Either, not both.
Array logical_not(const Array& a, Loc loc = Loc::here());                  ///< Whether a is 0.

// Exact parameter types, because C++'s own operators would convert an Array to bool.

/// As logical_and: both operands are computed always, other than C++'s own.
inline Array operator&&(const Array& a, const Operand& b) { return logical_and(a, b.array, b.loc); }
/// As logical_or: both operands are computed always, other than C++'s own.
inline Array operator||(const Array& a, const Operand& b) { return logical_or(a, b.array, b.loc); }
inline Array operator!(const Array& a) { return logical_not(a, {}); }  ///< As logical_not.
template <detail::Scalar T>
Array operator&&(const Array& a, T b) {
  return logical_and(a, b, {});
}
template <detail::Scalar T>
Array operator&&(T a, const Array& b) {
  return logical_and(a, b, {});
}
template <detail::Scalar T>
Array operator||(const Array& a, T b) {
  return logical_or(a, b, {});
}
template <detail::Scalar T>
Array operator||(T a, const Array& b) {
  return logical_or(a, b, {});
}

// Booleans and integers, bit by bit. Throw for floating dtypes.
Array operator&(const Operand& a, const Operand& b);  ///< Bitwise and.
Array operator|(const Operand& a, const Operand& b);  ///< Bitwise or.
Array operator^(const Operand& a, const Operand& b);  ///< Bitwise exclusive or.
Array operator~(const Operand& a);                    ///< All bits flipped.
/// Integers; a count outside [0, width) shifts all bits out.
Array operator<<(const Operand& a, const Operand& count);
/// Signed integers keep their sign, unsigned ones shift zeros in.
Array operator>>(const Operand& a, const Operand& count);

/// The number of bits set in an integer.
Array population_count(const Array& x, Loc loc = Loc::here());
/// The number of zero bits before the first one.
Array count_leading_zeros(const Array& x, Loc loc = Loc::here());

}  // namespace apsis
