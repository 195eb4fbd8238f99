#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {

const RungeKutta& Bosh3::method() {
  static const RungeKutta bosh3{.name = "Bosh3",
                                .order = 3,
                                .c = {0, 1. / 2, 3. / 4, 1},
                                .a = {{}, {1. / 2}, {0, 3. / 4}, {2. / 9, 1. / 3, 4. / 9}},
                                .b = {2. / 9, 1. / 3, 4. / 9, 0},
                                .error = {2. / 9 - 7. / 24, 1. / 3 - 1. / 4, 4. / 9 - 1. / 3, -1. / 8},
                                .dense = hermite_output({2. / 9, 1. / 3, 4. / 9, 0}),
                                .first_same_as_last = true};
  return bosh3;
}

}  // namespace apsis
