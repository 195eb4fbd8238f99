#pragma once

// Coefficients of dense output as papers print them: a polynomial for each slope that has one.

#include <cstddef>
#include <vector>

namespace apsis {

/// The polynomial of one slope: coefficients of θ, θ², …
struct SlopePolynomial {
  std::size_t stage;
  std::vector<double> powers;
};
/// RungeKutta::dense from them.
inline std::vector<std::vector<double>> by_power(std::size_t degree, std::size_t stages,
                                                 const std::vector<SlopePolynomial>& polynomials) {
  std::vector<std::vector<double>> dense(degree, std::vector<double>(stages, 0.));
  for (const SlopePolynomial& p : polynomials)
    for (std::size_t d = 0; d < p.powers.size(); ++d) dense[d][p.stage] = p.powers[d];
  return dense;
}

}  // namespace apsis
