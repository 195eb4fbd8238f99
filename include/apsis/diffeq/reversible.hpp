#pragma once

// Explicit solvers that keep more than the state from step to step.

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// y(t + h) = y(t - h) + 2 h f(t, y), order 2, with one evaluation a step; the first step is Euler's. No
/// error estimate: needs ConstantStepSize or StepTo. For equations that oscillate; where they decay it is
/// unstable. (Shampine, Stability of the leapfrog/midpoint method, Appl. Math. Comput. 208, 2009.)
struct LeapfrogMidpoint {
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart& start) const;
  SolverAttempt step(const SolverStep& step) const;
  LocalLinearInterpolation interpolation() const { return {}; }
};
/// Order 2, one evaluation a step, and exact when run back, which Adjoint::Reversible makes use of. With
/// Brownian motion: Stratonovich, strong order 1/2 (1 for additive noise). (Kidger, Foster, Li, Lyons,
/// Efficient and accurate gradients for neural SDEs, NeurIPS 2021, algorithm 1.)
struct ReversibleHeun {
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart& start) const;
  SolverAttempt step(const SolverStep& step) const;
  LocalLinearInterpolation interpolation() const { return {}; }
};

}  // namespace apsis
