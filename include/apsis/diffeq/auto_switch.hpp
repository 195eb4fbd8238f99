#pragma once

// A solver that finds out by itself whether the equation is stiff.

#include "apsis/diffeq/implicit.hpp"
#include "apsis/diffeq/runge_kutta.hpp"

namespace apsis {

namespace detail {

/// The two solvers without their types, and when one takes over.
struct SwitchedSolvers {
  SolverRef fast, stiff;
  const RungeKutta& table;  ///< of the fast one
  int after, back;
  double tolerance;
};
StepTraits switched_traits(const SwitchedSolvers& both);
void check_switched(const SwitchedSolvers& both, Loc loc);
std::vector<Array> switched_start(const SwitchedSolvers& both, const SolverStart& start);
SolverAttempt switched_step(const SwitchedSolvers& both, const SolverStep& step);
std::vector<Array> within_switched(const SwitchedSolvers& both, const DenseStep& step);

template <class S>
concept ExplicitTable =
    TableSolver<S> && std::is_same_v<std::remove_cvref_t<decltype(S::method())>, RungeKutta>;

}  // namespace detail

/// Dense output by the solver that made the step.
template <class S>
struct SwitchedInterpolation {
  S solver;
  std::vector<Array> evaluate(const DenseStep& step) const {
    return detail::within_switched(solver.both(), step);
  }
};

/// Steps by an explicit Runge-Kutta method, and by one for stiff equations where the first would be held to
/// short steps by stability alone: each lane of a batch for itself, and back again. That the equation is
/// stiff is told by |λ h|, λ being the greatest eigenvalue of ∂f/∂y, against the length of the explicit
/// method's stability interval. λ is estimated by the last two stages of the explicit step, which costs
/// nothing (Hairer, Wanner, Solving Ordinary Differential Equations II, IV.2), and by a step of the power
/// method after one of the other; both measure changes in the controller's tolerances.
/// AutoSwitch{Tsit5{}, Rodas5P{}}; any solver of whole equations may be the stiff one.
/// (DifferentialEquations.jl: AutoTsit5(Rosenbrock23()).)
template <detail::ExplicitTable Fast, Solver Stiff>
struct AutoSwitch {
  Fast fast = {};
  Stiff stiff = {};
  /// When so many more steps were stiff than were not, the stiff solver goes on; and the explicit one when of
  /// those of the stiff solver so many more were not.
  int after = 10, back = 3;
  /// Of the stability interval, from which on a step is stiff; between 0 and 1.
  double tolerance = 0.9;

  detail::SwitchedSolvers both() const {
    return {detail::solver_ref(fast), detail::solver_ref(stiff), Fast::method(), after, back, tolerance};
  }
  StepTraits traits() const { return detail::switched_traits(both()); }
  void check(Loc loc) const { detail::check_switched(both(), loc); }
  std::vector<Array> init(const SolverStart& start) const { return detail::switched_start(both(), start); }
  SolverAttempt step(const SolverStep& step) const { return detail::switched_step(both(), step); }
  SwitchedInterpolation<AutoSwitch> interpolation() const { return {*this}; }

  static_assert(detail::terms_of<Stiff>() == TermStructure::Whole,
                "AutoSwitch takes an explicit Runge-Kutta method and a solver of whole equations, such as "
                "AutoSwitch{Tsit5{}, Rodas5P{}}");
};
template <class Fast, class Stiff>
AutoSwitch(Fast, Stiff) -> AutoSwitch<Fast, Stiff>;

}  // namespace apsis
