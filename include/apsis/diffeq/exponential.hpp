#pragma once

// Solvers that integrate a linear part of the equation exactly.

#include "apsis/diffeq/solver.hpp"

namespace apsis {

/// Exponential time differencing by Runge-Kutta stages, order 4, for semilinear equations y' = f(t, y) + L y:
/// it takes MultiTerm{ODETerm{f}, ODETerm{l}}, the linear and stiff part second, of which it integrates L =
/// ∂l/∂y exactly, however stiff that is. What the second term has beyond L y, such as sources, goes with the
/// first. The functions of h L that steps need are made once for steps of one length and one L, in time n³;
/// where the program of l shows that L is diagonal, as of a spectral discretisation, they cost n a step. No
/// error estimate: for steps of one length, or HalfSolver{ETDRK4{}}. No step fails. (Cox, Matthews,
/// Exponential time differencing for stiff systems, J. Comput. Phys. 176, 2002; Kassam, Trefethen,
/// Fourth-order time-stepping for stiff PDEs, SIAM J. Sci. Comput. 26, 2005.)
struct ETDRK4 {
  static constexpr TermStructure terms = TermStructure::Split;
  StepTraits traits() const;
  std::vector<Array> init(const SolverStart& start) const;
  SolverAttempt step(const SolverStep& step) const;
  ThirdOrderHermiteInterpolation interpolation() const { return {}; }
};

}  // namespace apsis
