#pragma once

#include "apsis/core/make_params.hpp"

namespace apsis::detail {

/// convert: the elements as another dtype, or another weakness.
struct ConvertParams {
  Dtype dtype = Dtype::F64;
  bool weak = false;
  static void each(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("weak", self.weak);
  }
};

}  // namespace apsis::detail
