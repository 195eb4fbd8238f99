// Kværnø, Singly diagonally implicit Runge-Kutta methods with an explicit first stage, BIT 44, 2004: ESDIRK
// 5/4 with two stiffly accurate methods.

#include "apsis/diffeq/implicit.hpp"
#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {
namespace {

constexpr double g = 0.26;
constexpr double a61 = 0.13855640231268224, a63 = -0.04245337201752043, a64 = 0.02446657898003141,
                 a65 = 0.61943039072480676;
constexpr double b1 = 0.13659751177640291, b3 = -0.05496908796538376, b4 = -0.04118626728321046,
                 b5 = 0.62993304899016403, b6 = 0.06962479448202728;

}  // namespace

// The guesses of stages 3 to 6 extend the parabola, and the line, through the slopes of the first three
// stages.
const DiagonallyImplicitRungeKutta& Kvaerno5::method() {
  static const DiagonallyImplicitRungeKutta table{
      .name = "Kvaerno5",
      .order = 5,
      .error_order = 5,
      .c = {0, 0.52, 1.230333209967908, 0.8957659843500759, 0.43639360985864756, 1, 1},
      .a = {{0},
            {g, g},
            {0.13, 0.84033320996790809, g},
            {0.22371961478320505, 0.47675532319799699, -0.06470895363112615, g},
            {0.16648564323248321, 0.10450018841591720, 0.03631482272098715, -0.13090704451073998, g},
            {a61, 0, a63, a64, a65, g},
            {b1, 0, b3, b4, b5, b6, g}},
      .b = {b1, 0, b3, b4, b5, b6, g},
      .error = {b1 - a61, 0, b3 - a63, b4 - a64, b5 - a65, b6 - g, g},
      .predictor = {{},
                    {1},
                    {-1.366025403784441, 2.3660254037844357},
                    {-0.19650552613122207, 0.8113579546496623, 0.38514757148155954},
                    {0.10375304369958693, 0.937994698066431, -0.04174774176601781, 0},
                    {-0.17281112873898072, 0.6235784481025847, 0.5492326806363959, 0, 0},
                    {a61, 0, a63, a64, a65, g}},
      .dense = hermite_output({b1, 0, b3, b4, b5, b6, g}),
      .first_same_as_last = true};
  return table;
}

}  // namespace apsis
