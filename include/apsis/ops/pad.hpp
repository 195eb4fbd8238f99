#pragma once

#include "apsis/core/array.hpp"

namespace apsis {

/// `low[i]` and `high[i]` copies of `value` before and after axis i, and `interior[i]` between neighbours;
/// negative numbers of the first two crop what is then there. Throws for a negative `interior`, and unless
/// there is one of each an axis. (jax.lax.pad)
Array pad(const Array& x, const Dims& low, const Dims& high, const Dims& interior, const Array& value,
          Loc loc = Loc::here());

}  // namespace apsis
