#pragma once

// The larger and the smaller of two elements, shared by the elementwise ops and the reductions. NaN wins; -0
// is smaller than +0 (IEEE 754-2019 maximum and minimum): so the result does not depend on the order of a
// reduction, but for the payload of NaN.

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace apsis::detail {

/// All bits but the sign.
template <class T>
T magnitude_bits() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  return std::bit_cast<T>(std::numeric_limits<Bits>::max());
}

// The choice by one comparison is an instruction of x86, which gives a where both are equal or one is NaN.
// What is left is the sign of zero, the larger of a and a number without a sign has none, and b where it is
// NaN. Both cost nothing where b is a constant.
template <class M, class V>
V larger(const M& m, V a, V b) {
  if constexpr (std::is_same_v<typename M::Scalar, bool>) {
    return m.or_(a, b);
  } else if constexpr (M::is_float) {
    const V most = m.select(m.gt(b, a), b, a), magnitude = m.constant(magnitude_bits<typename M::Scalar>());
    const auto kept = m.or_(m.to_bits(b), m.to_bits(magnitude));
    return m.select(m.ne(b, b), b, m.from_bits(m.and_(m.to_bits(most), kept)));
  } else {
    return m.select(m.gt(a, b), a, b);
  }
}

template <class M, class V>
V smaller(const M& m, V a, V b) {
  if constexpr (std::is_same_v<typename M::Scalar, bool>) {
    return m.and_(a, b);
  } else if constexpr (M::is_float) {
    const V least = m.select(m.lt(b, a), b, a), sign = m.constant(typename M::Scalar(-0.0));
    const auto set = m.and_(m.to_bits(b), m.to_bits(sign));
    return m.select(m.ne(b, b), b, m.from_bits(m.or_(m.to_bits(least), set)));
  } else {
    return m.select(m.lt(a, b), a, b);
  }
}

}  // namespace apsis::detail
