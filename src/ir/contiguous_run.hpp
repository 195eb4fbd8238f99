#pragma once

#include "ir/view.hpp"

namespace apsis::detail {

/// How many elements of a view lie one behind the other at least.
inline std::int64_t contiguous_run(const View& view) {
  std::int64_t run = 1;
  for (std::size_t i = view.shape.size(); i-- > 0; run *= view.shape[i])
    if (view.shape[i] != 1 && view.strides[i] != run) break;
  return run;
}

}  // namespace apsis::detail
