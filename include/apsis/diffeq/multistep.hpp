#pragma once

// Methods of several steps and of variable order.

#include "apsis/diffeq/implicit.hpp"

namespace apsis {

/// The polynomial through the states of the last steps, as many as the order says.
struct BackwardDifferenceInterpolation {
  std::vector<Array> evaluate(const DenseStep& step) const;
};

/// Backward differences of orders 1 to 5, the order chosen as it goes, in the quasi-constant form of Shampine
/// and Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18, 1997: numerical differentiation formulas
/// (NDF), or with `numerical` false the classical ones (BDF). One equation a step: for large stiff systems,
/// or where slopes are expensive. Steps keep their length until the order's worth of them has been made, then
/// the order is chosen by which the next step may be longest, and PIDController sees an error that says so.
/// With steps of one length the order rises to max_order. Jacobian and factors are kept from step to step by
/// the rules of CVODE (Hindmarsh et al. 2005).
struct BackwardDifferences {
  NewtonOptions newton = {};
  int max_order = 5;  ///< from 1 to 5
  bool numerical = true;
  StepTraits traits() const;
  void check(Loc loc) const;
  std::vector<Array> init(const SolverStart& start) const;
  SolverAttempt step(const SolverStep& step) const;
  BackwardDifferenceInterpolation interpolation() const { return {}; }
};

}  // namespace apsis
