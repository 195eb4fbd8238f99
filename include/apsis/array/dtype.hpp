#pragma once

// Facts about dtypes, and what they become together.

#include <span>

#include "apsis/core/array.hpp"

namespace apsis {

/// What a floating dtype can hold.
struct FloatInfo {
  int bits;                   ///< of an element
  int nmant;                  ///< bits of the fraction
  int maxexp;                 ///< the least power of two that is too large
  int minexp;                 ///< of the smallest normal number
  double eps;                 ///< from 1 to the next number
  double epsneg;              ///< from 1 to the number before
  double max;                 ///< the greatest finite number
  double min;                 ///< -max
  double tiny;                ///< the smallest normal number
  double smallest_subnormal;  ///< the smallest number above 0
  int precision;              ///< decimal digits that are kept
};
/// Throws for a dtype that is not floating; a complex one has that of its parts.
FloatInfo finfo(Dtype dtype, Loc loc = Loc::here());

/// What an integer dtype can hold.
struct IntegerInfo {
  int bits;           ///< of an element
  std::int64_t min;   ///< the least number
  std::uint64_t max;  ///< the greatest
};
/// Throws for a dtype that is no integer.
IntegerInfo iinfo(Dtype dtype, Loc loc = Loc::here());

/// The dtype of a result of both (JAX's lattice).
inline Dtype promote_types(Dtype a, Dtype b) { return promote({a, false}, {b, false}).dtype; }
/// The dtype of a result of all of them; C++ scalars are weak. Throws for an empty list.
Dtype result_type(std::span<const Array> arrays, Loc loc = Loc::here());
Dtype result_type(std::initializer_list<Array> arrays, Loc loc = Loc::here());

/// Which conversions are allowed, as in NumPy: none; such as keep every value; those and such as stay among
/// integers, floating or complex numbers; all.
enum class Casting : std::uint8_t { No, Safe, SameKind, Unsafe };
/// Whether the conversion is allowed. (numpy.can_cast)
bool can_cast(Dtype from, Dtype to, Casting casting = Casting::Safe);

/// The classes that NumPy sorts dtypes into.
enum class DtypeClass : std::uint8_t {
  Bool,
  SignedInteger,
  UnsignedInteger,
  Integer,
  Floating,
  Complex,
  Inexact,
  Number
};
/// Whether a dtype belongs to a class.
bool issubdtype(Dtype dtype, DtypeClass group);

}  // namespace apsis
