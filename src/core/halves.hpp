#pragma once

#include <bit>
#include <cstdint>

#include "apsis/core/dtype.hpp"

namespace apsis::detail {

// The conversions of half floats, for loops over many.

inline float widened(bfloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
inline float widened(float16 x) { return static_cast<float>(std::bit_cast<_Float16>(x.bits)); }

/// Round to nearest even; NaN stays a quiet NaN (a truncated payload could become infinity).
inline void round_to(bfloat16& half, float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nan = (word >> 16) | 0x40u, number = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  half.bits = static_cast<std::uint16_t>(value != value ? nan : number);
}
inline void round_to(float16& half, float value) {
  half.bits = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

}  // namespace apsis::detail
