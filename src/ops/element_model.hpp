#pragma once

// The evaluator's model of one element: what the ops' texts compute with. EmitterModel has the same
// operations and emits them; both give the same bits.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace apsis::detail {

template <class T>
struct ElementModel {
  using Scalar = T;
  using F = T;
  using B = bool;
  using Bits = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  static constexpr bool is_float = std::is_floating_point_v<T>;
  static constexpr bool is_signed = std::is_signed_v<T>;

  T constant(T x) const { return x; }
  // Integers wrap. Narrow ones are widened first: the product of two 16-bit numbers overflows int.
  T add(T x, T y) const {
    return arithmetic(x, y, [](auto a, auto b) { return a + b; });
  }
  T sub(T x, T y) const {
    return arithmetic(x, y, [](auto a, auto b) { return a - b; });
  }
  T mul(T x, T y) const {
    return arithmetic(x, y, [](auto a, auto b) { return a * b; });
  }
  T neg(T x) const {
    if constexpr (is_float)
      return -x;
    else
      return sub(T(0), x);
  }
  T abs(T x) const {
    if constexpr (is_float)
      return std::fabs(x);
    else if constexpr (is_signed)
      return x < 0 ? neg(x) : x;
    else
      return x;
  }

  // Floats.
  T div(T x, T y) const { return x / y; }
  T fma(T x, T y, T z) const { return std::fma(x, y, z); }
  T sqrt(T x) const { return std::sqrt(x); }
  T floor(T x) const { return std::floor(x); }
  T ceil(T x) const { return std::ceil(x); }
  T trunc(T x) const { return std::trunc(x); }
  T rint(T x) const { return std::rint(x); }
  Bits to_bits(T x) const { return std::bit_cast<Bits>(x); }
  T from_bits(Bits x) const { return std::bit_cast<T>(x); }

  // Integers; the divisor is neither zero nor -1.
  T integer_div(T x, T y) const { return static_cast<T>(x / y); }
  T integer_rem(T x, T y) const { return static_cast<T>(x % y); }
  // Shift counts are below the width.
  T shift_left(T x, T n) const { return static_cast<T>(static_cast<Bits>(x) << static_cast<Bits>(n)); }
  T shift_right_arithmetic(T x, T n) const {
    return static_cast<T>(static_cast<std::make_signed_t<Bits>>(x) >> static_cast<Bits>(n));
  }
  T shift_right_logical(T x, T n) const {
    return static_cast<T>(static_cast<Bits>(x) >> static_cast<Bits>(n));
  }
  T population_count(T x) const { return static_cast<T>(std::popcount(static_cast<Bits>(x))); }
  T leading_zeros(T x) const { return static_cast<T>(std::countl_zero(static_cast<Bits>(x))); }

  // Integers and bool (T or its bits).
  template <std::integral U>
  U and_(U x, U y) const {
    return static_cast<U>(x & y);
  }
  template <std::integral U>
  U or_(U x, U y) const {
    return static_cast<U>(x | y);
  }
  template <std::integral U>
  U xor_(U x, U y) const {
    return static_cast<U>(x ^ y);
  }
  template <std::integral U>
  U not_(U x) const {
    if constexpr (std::is_same_v<U, bool>)
      return !x;
    else
      return static_cast<U>(~x);
  }

  B eq(T x, T y) const { return x == y; }
  B ne(T x, T y) const { return x != y; }
  B lt(T x, T y) const { return x < y; }
  B le(T x, T y) const { return x <= y; }
  B gt(T x, T y) const { return x > y; }
  B ge(T x, T y) const { return x >= y; }
  template <class U>
  U select(B condition, U x, U y) const {
    return condition ? x : y;
  }

 private:
  template <class Operation>
  static T arithmetic(T x, T y, Operation operation) {
    if constexpr (is_float)
      return operation(x, y);
    else {
      using Wide = std::conditional_t<sizeof(T) < 8, std::uint32_t, std::uint64_t>;
      return static_cast<T>(operation(static_cast<Wide>(x), static_cast<Wide>(y)));
    }
  }
};

}  // namespace apsis::detail
