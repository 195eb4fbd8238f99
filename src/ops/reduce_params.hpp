#pragma once

#include "apsis/core/make_params.hpp"
#include "apsis/core/shape.hpp"

namespace apsis::detail {

/// reduce_sum and its like: the axes, in increasing order, that disappear.
struct ReduceParams {
  Dims axes;
  static void each(auto& self, auto&& visit) { visit("axes", self.axes); }
};

/// argmax, argmin: the axis that disappears.
struct ArgReduceParams {
  std::int64_t axis = 0;
  static void each(auto& self, auto&& visit) { visit("axis", self.axis); }
};

/// cumsum and its like; `reverse` accumulates from the last entry to the first.
struct CumulativeParams {
  std::int64_t axis = 0;
  bool reverse = false;
  static void each(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("reverse", self.reverse);
  }
};

}  // namespace apsis::detail
