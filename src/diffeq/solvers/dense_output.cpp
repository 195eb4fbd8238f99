#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {

std::vector<std::vector<double>> linear_output(const std::vector<double>& b) { return {b}; }

// With D = Σ b k, k0 the first and k1 the last slope: θ k0 + θ² (3 D - 2 k0 - k1) + θ³ (k0 + k1 - 2 D).
std::vector<std::vector<double>> hermite_output(const std::vector<double>& b) {
  std::size_t s = b.size();
  if (s == 0) return {};
  std::vector<std::vector<double>> dense(3, std::vector<double>(s, 0));
  dense[0][0] = 1;
  for (std::size_t i = 0; i < s; ++i) {
    double first = i == 0, last = i == s - 1;
    dense[1][i] = 3 * b[i] - 2 * first - last;
    dense[2][i] = first + last - 2 * b[i];
  }
  return dense;
}

}  // namespace apsis
