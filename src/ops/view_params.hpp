#pragma once

// Parameters of the ops whose result is a strided view of their operand.

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis::detail {

/// broadcast_in_dim: axis i of the operand becomes axis `axes[i]` of `shape`; operand axes of size 1 may
/// stretch. The axes are distinct, in any order.
struct BroadcastParams {
  Shape shape;
  Dims axes;
  static void each(auto& self, auto&& visit) {
    visit("shape", self.shape);
    visit("axes", self.axes);
  }
};

struct ReshapeParams {
  Shape shape;
  static void each(auto& self, auto&& visit) { visit("shape", self.shape); }
};

/// transpose: axis i of the result is axis `permutation[i]` of the operand.
struct TransposeParams {
  Dims permutation;
  static void each(auto& self, auto&& visit) { visit("permutation", self.permutation); }
};

/// slice: 0 ≤ start ≤ limit ≤ size, stride > 0, one entry an axis.
struct SliceParams {
  Dims start, limit, stride;
  static void each(auto& self, auto&& visit) {
    visit("start", self.start);
    visit("limit", self.limit);
    visit("stride", self.stride);
  }
};

struct ReverseParams {
  Dims axes;
  static void each(auto& self, auto&& visit) { visit("axes", self.axes); }
};

extern const Op broadcast_in_dim_op, reshape_op, transpose_op, slice_op, reverse_op;

/// checkpoint_name: nothing but a name, for the policies of `checkpoint`.
struct CheckpointNameParams {
  std::string name;
  static void each(auto& self, auto&& visit) { visit("name", self.name); }
};

}  // namespace apsis::detail
