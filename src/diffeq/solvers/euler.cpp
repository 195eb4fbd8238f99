#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {

const RungeKutta& Euler::method() {
  static const RungeKutta euler{.name = "Euler",
                                .order = 1,
                                .c = {0},
                                .a = {{}},
                                .b = {1},
                                .error = {},
                                .dense = linear_output({1}),
                                .calculus = Calculus::Ito,
                                .strong_order = 0.5};
  return euler;
}

}  // namespace apsis
