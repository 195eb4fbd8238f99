#pragma once

// The ops that a gather and a scatter of single elements are for code generation: a fused loop can hold them.

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

/// put: operands (array, updates, i64 indices of equal shapes…), the array with the updates at such places,
/// in row-major order, as a scatter of this kind does it.
struct PutParams {
  PickParams at;
  ScatterKind kind = ScatterKind::Set;
  static void each(auto& self, auto&& visit) {
    PickParams::each(self.at, visit);
    visit("kind", self.kind);
  }
};

/// Made by the pass alone, where nothing is differentiated or batched any more.
extern const Op pick_op, put_op;

/// Whether the op writes to places of operand 0 that its last operands give, element by element of operand 1.
inline bool puts(const Eqn& e) { return e.op->fused_read == FusedRead::AtIndices && e.op->updates >= 0; }

}  // namespace apsis::detail
