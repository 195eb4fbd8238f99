#pragma once

#include "control/common/regions.hpp"

namespace apsis::detail {

/// linear_call: operands (plain…, linear…), of which the last `linear` ones are those that `region` is linear
/// in. `transposed`: (plain…, a cotangent for each result) → a cotangent for each linear operand, and
/// conditions. `conditions`: for each linear operand which of these says where its cotangent counts, or -1.
struct LinearCallParams {
  GraphRef region, transposed;
  std::int64_t linear = 0;
  Dims conditions;
  static void each(auto& self, auto&& visit) {
    visit("linear", self.linear);
    visit("conditions", self.conditions);
    visit("region", self.region);
    visit("transposed", self.transposed);
  }
};

extern const Op linear_call_op;

}  // namespace apsis::detail
