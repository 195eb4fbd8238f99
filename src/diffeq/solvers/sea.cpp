#include "apsis/diffeq/stochastic_runge_kutta.hpp"

namespace apsis {

const StochasticRungeKutta& SEA::method() {
  static const StochasticRungeKutta sea{.name = "SEA",
                                        .order = 1,
                                        .strong_order = 1,
                                        .noise = NoiseKind::Additive,
                                        .c = {0},
                                        .a = {{}},
                                        .b = {1},
                                        .w = {.a = {{0.5}}, .b = {1}},
                                        .h = {.a = {{1}}, .b = {0}}};
  return sea;
}

}  // namespace apsis
