#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {

const RungeKutta& Heun::method() {
  static const RungeKutta heun{.name = "Heun",
                               .order = 2,
                               .c = {0, 1},
                               .a = {{}, {1}},
                               .b = {0.5, 0.5},
                               .error = {0.5, -0.5},
                               .dense = hermite_output({0.5, 0.5}),
                               .calculus = Calculus::Stratonovich,
                               .strong_order = 0.5};
  return heun;
}

}  // namespace apsis
