#pragma once

#include "apsis/core/make_params.hpp"

namespace apsis::detail {

/// polygamma: the order of the derivative of digamma, at least 1.
struct PolygammaParams {
  std::int64_t n = 1;
  static void each(auto& self, auto&& visit) { visit("n", self.n); }
};

}  // namespace apsis::detail
