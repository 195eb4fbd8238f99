#include "apsis/diffeq/stochastic_runge_kutta.hpp"

namespace apsis {

const StochasticRungeKutta& SRA1::method() {
  static const StochasticRungeKutta sra1{.name = "SRA1",
                                         .order = 2,
                                         .strong_order = 1.5,
                                         .noise = NoiseKind::Additive,
                                         .c = {0, 0.75},
                                         .a = {{}, {0.75}},
                                         .b = {1. / 3, 2. / 3},
                                         .error = {-2. / 3, 2. / 3},
                                         .w = {.a = {{0}, {0.75}}, .b = {1}},
                                         .h = {.a = {{0}, {1.5}}, .b = {0}}};
  return sra1;
}

}  // namespace apsis
