#pragma once

// The order of `sort`, for emission: NaN is after all numbers and equal to itself, -0 equals 0.

#include "apsis/core/emitter.hpp"

namespace apsis::detail {

struct EmittedOrder {
  Value less, equal;
};

inline EmittedOrder emit_order(Emitter& e, Value a, Value b) {
  if (a.dtype == Dtype::F16 || a.dtype == Dtype::BF16)
    return emit_order(e, e.convert(a, Dtype::F32), e.convert(b, Dtype::F32));
  if (a.dtype == Dtype::Bool) return {e.bit_and(e.bit_not(a), b), e.bit_not(e.bit_xor(a, b))};
  Value less = e.compare(Compare::Lt, a, b), equal = e.compare(Compare::Eq, a, b);
  if (!is_floating(a.dtype)) return {less, equal};
  Value nan_a = e.compare(Compare::Ne, a, a), nan_b = e.compare(Compare::Ne, b, b);
  return {e.bit_or(less, e.bit_and(e.bit_not(nan_a), nan_b)), e.bit_or(equal, e.bit_and(nan_a, nan_b))};
}

}  // namespace apsis::detail
