#pragma once

// What Brownian paths share.

#include "apsis/diffeq/brownian.hpp"

namespace apsis::detail {

/// How many Lévy areas come with W.
inline int areas_of(LevyArea levy_area) { return static_cast<int>(levy_area); }
/// Numbers of 16 bits are drawn as they are, and computed with in f32.
inline Dtype working_dtype(Dtype dtype) {
  return dtype == Dtype::F16 || dtype == Dtype::BF16 ? Dtype::F32 : dtype;
}

}  // namespace apsis::detail
