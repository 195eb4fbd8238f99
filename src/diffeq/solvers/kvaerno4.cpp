// Kværnø, Singly diagonally implicit Runge-Kutta methods with an explicit first stage, BIT 44, 2004: ESDIRK
// 4/3 with two stiffly accurate methods, and the γ of the one that goes on with order 4.

#include "apsis/diffeq/implicit.hpp"
#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {
namespace {

constexpr double g = 0.5728160625;

/// Horner's rule in γ, from the highest power.
template <class... C>
constexpr double p(C... coefficients) {
  double value = 0;
  ((value = value * g + coefficients), ...);
  return value;
}

constexpr double q = p(12, -6, 1), r = p(12, -9, 2), w = 3 * g - 1;
constexpr double a31 = p(144, -180, 81, -15, 1) * g / (q * q), a32 = p(-36, 39, -15, 2) * g / (q * q);
constexpr double a41 = p(-144, 396, -330, 117, -18, 1) / (12 * g * g * r),
                 a42 = p(72, -126, 69, -15, 1) / (12 * g * g * w),
                 a43 = p(-6, 6, -1) * q * q / (12 * g * g * r * w);
constexpr double b1 = p(288, -312, 120, -18, 1) / (48 * g * g * r), b2 = p(24, -12, 1) / (48 * g * g * w),
                 b3 = -q * q * q / (48 * g * g * w * r * p(6, -6, 1)),
                 b4 = p(-24, 36, -12, 1) / p(24, -24, 4);
constexpr double c2 = 2 * g, c3 = g + a31 + a32;
constexpr double line3 = c3 / c2, line4 = (1 - c2) / (c3 - c2);

}  // namespace

const DiagonallyImplicitRungeKutta& Kvaerno4::method() {
  static const DiagonallyImplicitRungeKutta table{
      .name = "Kvaerno4",
      .order = 4,
      .error_order = 4,
      .c = {0, c2, c3, 1, 1},
      .a = {{0}, {g, g}, {a31, a32, g}, {a41, a42, a43, g}, {b1, b2, b3, b4, g}},
      .b = {b1, b2, b3, b4, g},
      .error = {b1 - a41, b2 - a42, b3 - a43, b4 - g, g},
      .predictor = {{}, {1}, {1 - line3, line3}, {0, 1 - line4, line4}, {a41, a42, a43, g}},
      .dense = hermite_output({b1, b2, b3, b4, g}),
      .first_same_as_last = true};
  return table;
}

}  // namespace apsis
