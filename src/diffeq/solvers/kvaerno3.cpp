// Kværnø, Singly diagonally implicit Runge-Kutta methods with an explicit first stage, BIT 44, 2004: ESDIRK
// 3/2 with two stiffly accurate methods. All coefficients are functions of γ.

#include "apsis/diffeq/implicit.hpp"
#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {
namespace {

constexpr double g = 0.43586652150;
constexpr double a31 = (-4 * g * g + 6 * g - 1) / (4 * g), a32 = (-2 * g + 1) / (4 * g);
constexpr double b1 = (6 * g - 1) / (12 * g), b2 = -1 / ((24 * g - 12) * g),
                 b3 = (-6 * g * g + 6 * g - 1) / (6 * g - 3);
constexpr double line = 1 / (2 * g);

}  // namespace

const DiagonallyImplicitRungeKutta& Kvaerno3::method() {
  static const DiagonallyImplicitRungeKutta table{.name = "Kvaerno3",
                                                  .order = 3,
                                                  .error_order = 3,
                                                  .c = {0, 2 * g, 1, 1},
                                                  .a = {{0}, {g, g}, {a31, a32, g}, {b1, b2, b3, g}},
                                                  .b = {b1, b2, b3, g},
                                                  .error = {b1 - a31, b2 - a32, b3 - g, g},
                                                  .predictor = {{}, {1}, {1 - line, line}, {a31, a32, g}},
                                                  .dense = hermite_output({b1, b2, b3, g}),
                                                  .first_same_as_last = true};
  return table;
}

}  // namespace apsis
