#pragma once

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis::detail {

/// dot_general: contracts axes contract_a[i] of a with contract_b[i] of b, for each entry of the batch axes
/// batch_a[i] = batch_b[i]. Result axes: batch, the free axes of a, the free axes of b.
///
/// Order of accumulation: where `is_k_ordered`, each result element is the sum of a_k · b_k over the
/// contracted elements in row-major order of contract_a, in the order of ops/dot_order.hpp, in f32 or f64
/// (half floats accumulate in f32 and round once). Elsewhere in that of ops/matrix_product.hpp; of complex
/// products BLAS decides.
struct DotParams {
  Dims contract_a, contract_b, batch_a, batch_b;
  /// Set by vmap, so that lanes which became a free axis keep the order they have alone.
  bool k_ordered = false;
  static void each(auto& self, auto&& visit) {
    visit("contract_a", self.contract_a);
    visit("contract_b", self.contract_b);
    visit("batch_a", self.batch_a);
    visit("batch_b", self.batch_b);
    visit("k_ordered", self.k_ordered);
  }
};

/// The contraction as `batch` products of an m × k by a k × n matrix.
struct DotSizes {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  Dims free_a, free_b;
  Shape result;
  DotSizes(const DotParams& p, const Shape& a, const Shape& b);
};

/// Products of at most this many multiply-adds (batch axes not counted) are k-ordered.
inline constexpr std::int64_t inline_dot_limit = 4096;
bool is_k_ordered(const DotParams& p, const Shape& a, const Shape& b);

extern const Op dot_general_op;

}  // namespace apsis::detail
