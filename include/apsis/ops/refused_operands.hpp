#pragma once

// What is no array where one is needed, refused with one sentence instead of a list of all that there is.

#include "apsis/core/array.hpp"
#include "apsis/tree/kind.hpp"

namespace apsis {

namespace detail {
template <class T>
concept IsArray = std::is_same_v<T, Array>;
template <class T>
concept NoOperand = !std::is_convertible_v<const T&, apsis::Operand>;
/// Types that a number, which may be an Array, multiplies from the left.
template <class T>
inline constexpr bool has_multiples = false;
template <class T>
inline constexpr bool holds_numbers = false;
template <class T>
requires(SequenceLike<T> ||
         ArrayLike<T>) inline constexpr bool holds_numbers<T> = std::is_arithmetic_v<typename T::value_type>;
template <class T>
inline constexpr bool never = false;
template <class T>
struct CheckOperand {
  static_assert(!holds_numbers<T>, "a std::vector or std::array of numbers is no Array: write array(v)");
  static_assert(!ComplexLike<T>,
                "complex numbers as operands are std::complex<float> and std::complex<double>");
  static_assert(
      holds_numbers<T> || ComplexLike<T>,
      "an operand that is neither an Array nor a number; look at what a container or optional holds");
};
template <class T>
struct CheckList {
  static_assert(never<T>, "the arrays to join are a list: write concatenate({a, b}) and stack({a, b})");
};
}  // namespace detail

#define APSIS_REFUSE_OPERAND(op, condition)                   \
  template <detail::IsArray A, detail::NoOperand V>           \
  requires(condition) Array operator op(const A&, const V&) { \
    return Array(int(sizeof(detail::CheckOperand<V>)));       \
  }                                                           \
  template <detail::NoOperand V, detail::IsArray A>           \
  Array operator op(const V&, const A&) {                     \
    return Array(int(sizeof(detail::CheckOperand<V>)));       \
  }
APSIS_REFUSE_OPERAND(+, true)
APSIS_REFUSE_OPERAND(-, true)
APSIS_REFUSE_OPERAND(*, !detail::has_multiples<V>)
APSIS_REFUSE_OPERAND(/, true)
APSIS_REFUSE_OPERAND(%, true)
APSIS_REFUSE_OPERAND(==, true)
APSIS_REFUSE_OPERAND(!=, true)
APSIS_REFUSE_OPERAND(<, true)
APSIS_REFUSE_OPERAND(<=, true)
APSIS_REFUSE_OPERAND(>, true)
APSIS_REFUSE_OPERAND(>=, true)
#undef APSIS_REFUSE_OPERAND

template <detail::IsArray A, class... Other>
Array concatenate(const A&, const Array&, const Other&...) {
  return Array(int(sizeof(detail::CheckList<A>)));
}
template <detail::IsArray A, class... Other>
Array stack(const A&, const Array&, const Other&...) {
  return Array(int(sizeof(detail::CheckList<A>)));
}

}  // namespace apsis
