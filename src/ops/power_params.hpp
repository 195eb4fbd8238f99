#pragma once

#include "apsis/core/make_params.hpp"

namespace apsis::detail {

/// integer_pow: the exponent.
struct IntegerPowParams {
  std::int64_t n = 1;
  static void each(auto& self, auto&& visit) { visit("n", self.n); }
};

}  // namespace apsis::detail
