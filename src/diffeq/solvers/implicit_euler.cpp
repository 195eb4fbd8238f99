#include "apsis/diffeq/implicit.hpp"
#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {

// The error is half the change of the slope: the difference to the trapezoidal rule.
const DiagonallyImplicitRungeKutta& ImplicitEuler::method() {
  static const DiagonallyImplicitRungeKutta table{.name = "ImplicitEuler",
                                                  .order = 1,
                                                  .error_order = 2,
                                                  .c = {0, 1},
                                                  .a = {{0}, {0, 1}},
                                                  .b = {0, 1},
                                                  .error = {-0.5, 0.5},
                                                  .predictor = {{}, {1}},
                                                  .dense = linear_output({0, 1})};
  return table;
}

}  // namespace apsis
