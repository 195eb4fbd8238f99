#pragma once

// The loop of few ops that tests of loops' options run.

#include "apsis/apsis.hpp"

namespace apsis::testing {

struct Count {
  Array i, x;
};

/// x after n steps.
inline Array repeat(const Array& n, const Array& x, const WhileOptions& options) {
  return while_loop([&](const Count& s) { return s.i < n; },
                    [](const Count& s) {
                      return Count{s.i + 1, sin(1.3 * s.x) + 0.1 * s.x};
                    },
                    Count{0, x}, options)
      .x;
}

}  // namespace apsis::testing
