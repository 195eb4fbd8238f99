#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {

const RungeKutta& Ralston::method() {
  static const RungeKutta ralston{.name = "Ralston",
                                  .order = 2,
                                  .c = {0, 2. / 3},
                                  .a = {{}, {2. / 3}},
                                  .b = {0.25, 0.75},
                                  .error = {0.75, -0.75},
                                  .dense = hermite_output({0.25, 0.75}),
                                  .calculus = Calculus::Stratonovich,
                                  .strong_order = 0.5};
  return ralston;
}

}  // namespace apsis
