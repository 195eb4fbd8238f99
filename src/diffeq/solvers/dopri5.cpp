#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {
namespace {

const std::vector<double> weights = {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84, 0};

/// Shampine's quartic through both ends and the midpoint, with the slopes k0, k1 at the ends. With D = Σ b k
/// and M = y_mid - y0: θ⁴ (2 (k1 - k0) - 8 D + 16 M) + θ³ (5 k0 - 3 k1 + 14 D - 32 M) + θ² (k1 - 4 k0 - 5 D +
/// 16 M) + θ k0.
std::vector<std::vector<double>> dopri5_output() {
  const double middle[7] = {6025192743. / 30085553152 / 2,     0,
                            51252292925. / 65400821598 / 2,    -2691868925. / 45128329728 / 2,
                            187940372067. / 1594534317056 / 2, -1776094331. / 19743644256 / 2,
                            11237099. / 235043384 / 2};
  std::vector<std::vector<double>> dense(4, std::vector<double>(7));
  for (std::size_t i = 0; i < 7; ++i) {
    double first = i == 0, last = i == 6, d = weights[i], m = middle[i];
    dense[0][i] = first;
    dense[1][i] = last - 4 * first - 5 * d + 16 * m;
    dense[2][i] = 5 * first - 3 * last + 14 * d - 32 * m;
    dense[3][i] = 2 * (last - first) - 8 * d + 16 * m;
  }
  return dense;
}

}  // namespace

const RungeKutta& Dopri5::method() {
  static const RungeKutta dopri5{
      .name = "Dopri5",
      .order = 5,
      .c = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1},
      .a = {{},
            {1. / 5},
            {3. / 40, 9. / 40},
            {44. / 45, -56. / 15, 32. / 9},
            {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
            {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
            {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}},
      .b = weights,
      .error = {35. / 384 - 1951. / 21600, 0, 500. / 1113 - 22642. / 50085, 125. / 192 - 451. / 720,
                -2187. / 6784 + 12231. / 42400, 11. / 84 - 649. / 6300, -1. / 60},
      .dense = dopri5_output(),
      .first_same_as_last = true};
  return dopri5;
}

}  // namespace apsis
