#pragma once

// Explicit methods whose many stages make them stable instead of exact.

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// The Runge-Kutta-Chebyshev method of order 2 (Sommeijer, Shampine, Verwer, RKC: an explicit solver for
/// parabolic PDEs, J. Comput. Appl. Math. 88, 1998): as many stages as the step needs to be stable, the
/// length of which goes with their square. For diffusion on fine grids, and other large systems that are
/// stiff along the negative real axis: no Jacobians, no linear equations. The spectral radius of ∂f/∂y is
/// found by power iterations.
struct RKC {
  /// A step that needs more stages fails, and a controller such as PIDController tries a shorter one.
  int max_stages = 500;
  StepTraits traits() const;
  void check(Loc loc) const;
  std::vector<Array> init(const SolverStart& start) const;
  SolverAttempt step(const SolverStep& step) const;
  ThirdOrderHermiteInterpolation interpolation() const { return {}; }
};

}  // namespace apsis
