#pragma once

// Fully implicit Runge-Kutta methods: all stages of a step are solved for together.

#include "apsis/diffeq/implicit.hpp"

namespace apsis {

/// The polynomial through the state at the start of a step and at its stages.
struct CollocationInterpolation {
  std::vector<Array> evaluate(const DenseStep& step) const;
};

/// The method of Radau IIA of order 5 with 3 stages, L-stable and stiffly accurate, with the error estimate,
/// the transformation to a real and a complex linear equation, and the first guesses of RADAU5 (Hairer,
/// Wanner, Solving Ordinary Differential Equations II, IV.8). For stiff equations with tolerances below 1e-8;
/// what is saved within steps is of order 4.
struct Radau5 {
  NewtonOptions newton = {};
  StepTraits traits() const;
  void check(Loc loc) const;
  std::vector<Array> init(const SolverStart& start) const;
  SolverAttempt step(const SolverStep& step) const;
  CollocationInterpolation interpolation() const { return {}; }
};

}  // namespace apsis
