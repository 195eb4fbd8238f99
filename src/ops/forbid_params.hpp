#pragma once

#include "apsis/core/make_params.hpp"
#include "apsis/ops/forbid.hpp"

namespace apsis::detail {

struct ForbidParams {
  Forbid what = Forbid::Differentiation;
  std::string name;
  static void each(auto& self, auto&& visit) {
    visit("what", self.what);
    visit("name", self.name);
  }
};

}  // namespace apsis::detail
