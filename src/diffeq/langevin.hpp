#pragma once

// What solvers of underdamped Langevin diffusion share.

#include "apsis/diffeq/langevin.hpp"

namespace apsis::detail {

/// A step, leaf by leaf: x, v, γ, u, ρ = √(2 γ u), u h, α = γ h and what the noise does.
class LangevinStep {
  const SolverStep& s_;

 public:
  explicit LangevinStep(const SolverStep& s);

  Array h;
  std::vector<Array> x, v, gamma, u, rho, uh, alpha, w, hh, kk;

  std::size_t leaves() const { return x.size(); }
  std::vector<Array> gradient(const std::vector<Array>& at) const { return s_.slopes.langevin_gradient(at); }
  /// A value a leaf.
  template <class Of>
  std::vector<Array> each(const Of& of) const {
    std::vector<Array> out;
    for (std::size_t i = 0; i < leaves(); ++i) out.push_back(of(i));
    return out;
  }

  /// (1 - e⁻ᵃ) / a and (e⁻ᵃ - 1 + a) / a², without loss of digits for small a.
  static Array phi1(const Array& a);
  static Array phi2(const Array& a);
  /// What H and K add to x, divided by ρ h: 6 (e⁻ᵃ (a + 2) + a - 2) / a³ and
  /// 60 (e⁻ᵃ (a (a + 6) + 12) - a (a - 6) - 12) / a⁴.
  static Array of_h(const Array& a);
  static Array of_k(const Array& a);
};

inline std::vector<Array> joined(std::vector<Array> x, const std::vector<Array>& v) {
  x.insert(x.end(), v.begin(), v.end());
  return x;
}

}  // namespace apsis::detail
