#pragma once

#include "apsis/transform/jit.hpp"

namespace apsis::debug {

/// `f`, compiled with checks: a call throws at the first operation that makes a NaN, in the order of the
/// program, and names it with the user's line; in loops, branches and derivatives too. (JAX: debug_nans.)
template <class F>
auto nan_debug(F f) {
  return jit(static_cast<F&&>(f), {.name = "nan_debug", .checks = {.nan = true}});
}

}  // namespace apsis::debug
