#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {

const RungeKutta& Midpoint::method() {
  static const RungeKutta midpoint{.name = "Midpoint",
                                   .order = 2,
                                   .c = {0, 0.5},
                                   .a = {{}, {0.5}},
                                   .b = {0, 1},
                                   .error = {1, -1},
                                   .dense = hermite_output({0, 1}),
                                   .calculus = Calculus::Stratonovich,
                                   .strong_order = 0.5};
  return midpoint;
}

}  // namespace apsis
