#pragma once

// Solvers for equations driven by Brownian motion, dy = f(t, y) dt + g(t, y) dW: a MultiTerm of an ODETerm
// and a ControlTerm (or more of each, whose sums f and g·dW are). Euler, Heun, Midpoint, Ralston and
// ReversibleHeun take such terms, too.
//
//   VirtualBrownianTree path(0., 1., 1e-3, {}, key);
//   auto drift = [](const Array&, const Array& y) { return -y; };
//   auto diffusion = [](const Array&, const Array& y) { return 0.3 * y; };
//   auto sol = diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{diffusion, path}}, ItoMilstein{}, 0., 1.,
//   0.01, 1.);

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// Euler's method for the drift and Heun's for the diffusion. Stratonovich, strong order 1/2 (1 for
/// commutative noise).
struct EulerHeun {
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart&) const { return {}; }
  SolverAttempt step(const SolverStep& step) const;
  LocalLinearInterpolation interpolation() const { return {}; }
};
/// Milstein's method for Itô equations, strong order 1, with derivatives of the vector field by forward mode.
/// For commutative noise. (Milstein, Approximate integration of stochastic differential equations, Theory
/// Probab. Appl. 19, 1974; Kloeden, Platen, Numerical Solution of Stochastic Differential Equations, 10.3.)
struct ItoMilstein {
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart&) const { return {}; }
  SolverAttempt step(const SolverStep& step) const;
  LocalLinearInterpolation interpolation() const { return {}; }
};
/// Milstein's method for Stratonovich equations; the same otherwise.
struct StratonovichMilstein {
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart&) const { return {}; }
  SolverAttempt step(const SolverStep& step) const;
  LocalLinearInterpolation interpolation() const { return {}; }
};

}  // namespace apsis
