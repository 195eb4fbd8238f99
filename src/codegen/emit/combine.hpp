#pragma once

// What reductions do with two elements, and with those of one vector.

#include <vector>

#include "apsis/core/op.hpp"
#include "codegen/builder/builder.hpp"
#include "ops/reduce_params.hpp"

namespace apsis::detail {

/// Combines two values as the op does: its own unrolled text on two elements.
class Combine {
 public:
  Combine(Builder& b, const Op& op, Dtype dtype)
      : b_(b), op_(op), params_(make_params(ReduceParams{{0}})), in_(dtype, {2}), out_(dtype, {}) {}
  Value operator()(Value x, Value y) const;
  /// The lanes of one value: pairwise, each with the one half of them further on.
  Value across(Value v) const;
  /// Until there are no more lanes than so many.
  Value across(Value v, int lanes) const;
  /// The same of several values of equally many lanes, at least as many as there are values: a lane each.
  Value across(std::vector<Value> values) const;

 private:
  Builder& b_;
  const Op& op_;
  Params params_;
  Aval in_, out_;
};

/// The dtype that sums and the like of `dtype` are computed in.
inline Dtype combined_dtype(Dtype dtype) {
  return item_size(dtype) == 2 && is_floating(dtype) ? Dtype::F32 : dtype;
}

}  // namespace apsis::detail
