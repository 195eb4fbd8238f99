#pragma once

#include <type_traits>

namespace apsis {

/// A value that is baked into the compiled program: part of the cache key, so that a change retraces.
/// Converts implicitly from and to `T`. Floating-point values compare by bits: two NaNs of
/// equal bits are the same key, and -0.0 is another key than 0.0.
template <class T>
struct Static {
  using is_apsis_static = void;  ///< how lower layers recognise a Static without naming it
  using value_type = T;

  T value{};

  constexpr Static() requires std::is_default_constructible_v<T>
  = default;
  constexpr Static(T v) : value(static_cast<T&&>(v)) {}
  constexpr operator const T&() const noexcept { return value; }

  friend constexpr bool operator==(const Static& a, const Static& b) {
    if constexpr (std::is_same_v<T, double>) {
      return __builtin_bit_cast(unsigned long long, a.value) ==
             __builtin_bit_cast(unsigned long long, b.value);
    } else if constexpr (std::is_same_v<T, float>) {
      return __builtin_bit_cast(unsigned, a.value) == __builtin_bit_cast(unsigned, b.value);
    } else {
      return a.value == b.value;
    }
  }
};

namespace detail {
template <class A, class B>
concept Numbers = std::is_arithmetic_v<A> && std::is_arithmetic_v<B>;
}

// Static numbers compute as the numbers they hold. (Between a Static and a number the conversion serves;
// between two there is also the way by way of Arrays, which must not compete.)
#define APSIS_STATIC_OPERATOR(op)                                                                            \
  template <class A, class B>                                                                                \
  requires detail::Numbers<A, B>                                                                             \
  constexpr auto operator op(const Static<A>& a, const Static<B>& b) noexcept { return a.value op b.value; } \
  template <class A, class B>                                                                                \
  requires detail::Numbers<A, B>                                                                             \
  constexpr auto operator op(const Static<A>& a, B b) noexcept { return a.value op b; }                      \
  template <class A, class B>                                                                                \
  requires detail::Numbers<A, B>                                                                             \
  constexpr auto operator op(A a, const Static<B>& b) noexcept { return a op b.value; }
APSIS_STATIC_OPERATOR(+)
APSIS_STATIC_OPERATOR(-)
APSIS_STATIC_OPERATOR(*)
APSIS_STATIC_OPERATOR(/)
APSIS_STATIC_OPERATOR(%)
APSIS_STATIC_OPERATOR(<)
APSIS_STATIC_OPERATOR(<=)
APSIS_STATIC_OPERATOR(>)
APSIS_STATIC_OPERATOR(>=)
#undef APSIS_STATIC_OPERATOR
template <class A>
requires std::is_arithmetic_v<A>
constexpr auto operator-(const Static<A>& a) noexcept { return -a.value; }
template <class A>
requires std::is_arithmetic_v<A>
constexpr auto operator+(const Static<A>& a) noexcept { return +a.value; }
/// With a number of any type; two Statics of one type are compared above, by bits.
template <class A, class B>
requires(detail::Numbers<A, B>) constexpr bool operator==(const Static<A>& a, B b) noexcept {
  return a.value == b;
}

}  // namespace apsis
