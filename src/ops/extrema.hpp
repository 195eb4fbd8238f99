#pragma once

// The larger and the smaller of two elements, shared by the elementwise ops and the reductions. NaN wins; -0
// is smaller than +0 (IEEE 754-2019 maximum and minimum), so that the result does not depend on the order of
// a reduction.

#include <type_traits>

namespace apsis::detail {

template <class M, class V>
V larger(const M& m, V a, V b) {
  if constexpr (std::is_same_v<typename M::Scalar, bool>)
    return m.or_(a, b);
  else if constexpr (M::is_float) {
    // Equal operands agree in all bits but the sign of zero: the conjunction is +0 if either is.
    auto equal = m.from_bits(m.and_(m.to_bits(a), m.to_bits(b)));
    return m.select(m.or_(m.gt(a, b), m.ne(a, a)), a, m.select(m.eq(a, b), equal, b));
  } else {
    return m.select(m.gt(a, b), a, b);
  }
}

template <class M, class V>
V smaller(const M& m, V a, V b) {
  if constexpr (std::is_same_v<typename M::Scalar, bool>)
    return m.and_(a, b);
  else if constexpr (M::is_float) {
    auto equal = m.from_bits(m.or_(m.to_bits(a), m.to_bits(b)));
    return m.select(m.or_(m.lt(a, b), m.ne(a, a)), a, m.select(m.eq(a, b), equal, b));
  } else {
    return m.select(m.lt(a, b), a, b);
  }
}

}  // namespace apsis::detail
