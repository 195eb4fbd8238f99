#include "apsis/diffeq/stochastic_runge_kutta.hpp"

namespace apsis {

const StochasticRungeKutta& SPaRK::method() {
  constexpr double root = 1.7320508075688772935;  // of 3
  constexpr double outer = (3 - root) / 6, inner = root / 3;
  static const StochasticRungeKutta spark{
      .name = "SPaRK",
      .order = 2,
      .strong_order = 0.5,
      .c = {0, 0.5, 1},
      .a = {{}, {0.5}, {0, 1}},
      .b = {outer, inner, outer},
      .error = {outer - 0.5, inner, outer - 0.5},
      .w = {.a = {{}, {0.5}, {0, 1}}, .b = {outer, inner, outer}, .error = {outer - 0.5, inner, outer - 0.5}},
      .h = {.a = {{}, {root}, {0, 0}}, .b = {1, 0, -1}, .error = {1, 0, -1}}};
  return spark;
}

}  // namespace apsis
