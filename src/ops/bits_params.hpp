#pragma once

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis::detail {

/// bitcast: the bits as a dtype of the same width.
struct BitcastParams {
  Dtype dtype = Dtype::I64;
  static void each(auto& self, auto&& visit) { visit("dtype", self.dtype); }
};

/// reduce_precision: how many bits are left.
struct ReducePrecisionParams {
  std::int64_t exponent_bits = 8, mantissa_bits = 23;
  static void each(auto& self, auto&& visit) {
    visit("exponent_bits", self.exponent_bits);
    visit("mantissa_bits", self.mantissa_bits);
  }
};

extern const Op bitcast_op, reduce_precision_op;

}  // namespace apsis::detail
