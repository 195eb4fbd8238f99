#pragma once

// Solvers for underdamped Langevin diffusion, Foster, Lyons, Oberhauser, The shifted ODE method for
// underdamped Langevin MCMC, arXiv:2101.03446: friction and noise are solved exactly, ∇f by a few
// evaluations.
//
//   VirtualBrownianTree path(0., 10., 0.02, {2}, key, {.levy_area = LevyArea::SpaceTimeTime});
//   auto sol = diffeqsolve(underdamped_langevin(1., 1., grad(f), path), QUICSORT{}, 0., 10., 0.05,
//                          std::pair{x, v});

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// Both terms of the equation.
template <class G, class U, class F, class P>
auto underdamped_langevin(const G& gamma, const U& u, const F& grad_f, const P& path) {
  return MultiTerm{UnderdampedLangevinDriftTerm{gamma, u, grad_f},
                   UnderdampedLangevinDiffusionTerm{gamma, u, path}};
}

/// Adaptive Langevin by interpolated gradients and noise: strong order 2, one gradient a step, with an error
/// estimate. Needs LevyArea::SpaceTime.
struct ALIGN {
  static constexpr TermStructure terms = TermStructure::Langevin;
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart& start) const;
  SolverAttempt step(const SolverStep& step) const;
  LocalLinearInterpolation interpolation() const { return {}; }
};
/// Shifted ODE method with third order, strong order 3, two gradients a step. Needs LevyArea::SpaceTimeTime.
struct ShOULD {
  static constexpr TermStructure terms = TermStructure::Langevin;
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart& start) const;
  SolverAttempt step(const SolverStep& step) const;
  LocalLinearInterpolation interpolation() const { return {}; }
};
/// Quadrature inspired and contractive shifted ODE with Runge-Kutta three: strong order 3, two gradients a
/// step. Needs LevyArea::SpaceTimeTime. (After Chada, Leimkuhler, Paulin, Whalley, Unbiased kinetic Langevin
/// Monte Carlo with inexact gradients, arXiv:2311.05025.)
struct QUICSORT {
  static constexpr TermStructure terms = TermStructure::Langevin;
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart&) const { return {}; }
  SolverAttempt step(const SolverStep& step) const;
  LocalLinearInterpolation interpolation() const { return {}; }
};

}  // namespace apsis
