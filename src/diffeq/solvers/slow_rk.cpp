#include "apsis/diffeq/stochastic_runge_kutta.hpp"

namespace apsis {

const StochasticRungeKutta& SlowRK::method() {
  static const StochasticRungeKutta slow_rk{
      .name = "SlowRK",
      .order = 2,
      .strong_order = 1.5,
      .noise = NoiseKind::Commutative,
      .c = {0, 0.5, 0.5, 0.5, 0.5, 0.75, 1},
      .a = {{}, {0.5}, {0.5, 0}, {0.5, 0, 0}, {0.5, 0, 0, 0}, {0.75, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}},
      .b = {1. / 3, 0, 0, 0, 0, 2. / 3, 0},
      .w = {.a = {{}, {0}, {0, 0.5}, {0, 0, 0.5}, {0, 0, 0, 1}, {0, 0, 0, 0.75, 0}, {0, 0, 0.5, 0, 0, 0}},
            .b = {0, 1. / 6, 1. / 3, 1. / 3, 1. / 6, 0, 0}},
      .h = {.a = {{}, {0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1.5, 0}, {0, 0, 0, 0, 0, 0}},
            .b = {0, 0, 0, 2, 0, 0, -2}}};
  return slow_rk;
}

}  // namespace apsis
