#pragma once

#include "apsis/core/make_params.hpp"

namespace apsis::detail {

/// stop_gradient has no parameters, or these where what it gives is used for nothing: in lanes that chose
/// another branch. There a tangent may as well be zero.
struct StopGradientParams {
  bool unused = true;
  static void each(auto& self, auto&& visit) { visit("unused", self.unused); }
};

}  // namespace apsis::detail
