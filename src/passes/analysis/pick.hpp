#pragma once

// The op that a gather of single elements is for code generation: a fused loop can hold it.

#include "ir/graph.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {

/// pick: operands (array, i64 indices of equal shapes…). Element i of the result is that of the array at
/// (index₀[i], index₁[i], …) along `axes`, and at 0 along the other axes, which have size 1. An index out of
/// bounds means what it does for a gather.
struct PickParams {
  Dims axes;
  OutOfBounds mode = OutOfBounds::Clip;
  static void each(auto& self, auto&& visit) {
    visit("axes", self.axes);
    visit("mode", self.mode);
  }
};

/// Made by the pass alone, where nothing is differentiated or batched any more.
extern const Op pick_op;

}  // namespace apsis::detail
