#include "apsis/diffeq/stochastic_runge_kutta.hpp"

namespace apsis {

const StochasticRungeKutta& ShARK::method() {
  static const StochasticRungeKutta shark{.name = "ShARK",
                                          .order = 2,
                                          .strong_order = 1.5,
                                          .noise = NoiseKind::Additive,
                                          .c = {0, 5. / 6},
                                          .a = {{}, {5. / 6}},
                                          .b = {0.4, 0.6},
                                          .error = {-0.6, 0.6},
                                          .w = {.a = {{0}, {5. / 6}}, .b = {1}},
                                          .h = {.a = {{1}, {1}}, .b = {0}}};
  return shark;
}

}  // namespace apsis
