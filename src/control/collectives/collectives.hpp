#pragma once

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"

namespace apsis::detail {

/// Of the ops over a named axis of `size` lanes: `dims` are axes of the array they use, `sources` is
/// ppermute's.
struct CollectiveParams {
  std::string axis;
  std::int64_t size = 0;
  Dims dims, sources;
  static void each(auto& self, auto&& visit) {
    visit("axis", self.axis);
    visit("size", self.size);
    visit("dims", self.dims);
    visit("sources", self.sources);
  }
};

/// unvmap: over the elements of all lanes, whether any is true (0), whether all are (1), or the largest (2).
struct UnvmapParams {
  std::int64_t reduction = 0;
  static void each(auto& self, auto&& visit) { visit("reduction", self.reduction); }
};

extern const Op psum_op, pmax_op, pmin_op, all_gather_op, psum_scatter_op, all_to_all_op, ppermute_op,
    unvmap_op;

}  // namespace apsis::detail
