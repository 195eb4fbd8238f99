// Whitaker, Kar, Implicit-explicit Runge-Kutta methods for fast-slow wave problems, Mon. Weather Rev. 141,
// 2013. The embedded method is Heun's; first guesses lie on the line through the first two slopes.

#include "apsis/diffeq/implicit.hpp"

namespace apsis {

const DiagonallyImplicitRungeKutta& Sil3::method() {
  static const DiagonallyImplicitRungeKutta table{
      .name = "Sil3",
      .order = 2,
      .error_order = 2,
      .c = {0, 1. / 3, 2. / 3, 1},
      .a = {{0}, {1. / 6, 1. / 6}, {1. / 3, 0, 1. / 3}, {3. / 8, 0, 3. / 8, 1. / 4}},
      .b = {3. / 8, 0, 3. / 8, 1. / 4},
      .error = {1. / 8, 0, -3. / 8, 1. / 4},
      .predictor = {{}, {1}, {-1, 2}, {-1, 2, 0}},
      .dense = {},
      .explicit_a = {{}, {1. / 3}, {1. / 6, 1. / 2}, {1. / 2, -1. / 2, 1}},
      .explicit_b = {1. / 2, -1. / 2, 1, 0},
      .explicit_error = {0, 1. / 2, -1, 1. / 2}};
  return table;
}

}  // namespace apsis
