#pragma once

#include <type_traits>

namespace apsis {

/// A value that is baked into the compiled program: part of the cache key, so that a change retraces.
/// Converts implicitly from and to `T`. Floating-point values compare by bits: two NaNs of
/// equal bits are the same key, and -0.0 is another key than 0.0.
template <class T>
struct Static {
  using is_apsis_static = void;  // how lower layers recognise a Static without naming it
  using value_type = T;

  T value{};

  constexpr Static() = default;
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

}  // namespace apsis
