#include "apsis/diffeq/stochastic_runge_kutta.hpp"

namespace apsis {

const StochasticRungeKutta& GeneralShARK::method() {
  static const StochasticRungeKutta general_shark{.name = "GeneralShARK",
                                                  .order = 2,
                                                  .strong_order = 0.5,
                                                  .c = {0, 0, 5. / 6},
                                                  .a = {{}, {0}, {0, 5. / 6}},
                                                  .b = {0, 0.4, 0.6},
                                                  .w = {.a = {{}, {0}, {0, 5. / 6}}, .b = {0, 0.4, 0.6}},
                                                  .h = {.a = {{}, {1}, {1, 0}}, .b = {0, 1.2, -1.2}}};
  return general_shark;
}

}  // namespace apsis
