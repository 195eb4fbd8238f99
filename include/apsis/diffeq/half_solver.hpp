#pragma once

// Error estimates for solvers without one, by step doubling.

#include "apsis/diffeq/solver.hpp"

namespace apsis {

namespace detail {
SolverAttempt half_steps(const SolverRef& solver, const SolverStep& step);
std::vector<Array> within_halves(const SolverRef& solver, const DenseStep& step);
}  // namespace detail

/// Dense output of two steps in one, each by its own.
template <class S>
struct HalfInterpolation {
  S solver;
  std::vector<Array> evaluate(const DenseStep& step) const {
    return detail::within_halves(detail::solver_ref(solver), step);
  }
};

/// Two steps of `solver` of half the length; the difference to one step of the whole length is the estimate
/// of the error, three times the work: HalfSolver{Euler{}}. With Brownian motion adaptive steps of Euler's
/// method are refused unless the noise is additive: they lead to something else than the Itô integral.
/// (Diffrax: HalfSolver, whose dense output is that of the one long step.)
template <Solver S>
struct HalfSolver {
  static constexpr TermStructure terms = detail::terms_of<S>();
  S solver;

  StepTraits traits() const {
    StepTraits t = detail::solver_ref(solver).traits;
    t.error_order = t.order + 1;
    return t;
  }
  void check(Loc loc) const {
    const detail::SolverRef ref = detail::solver_ref(solver);
    ref.check(ref.self, loc);
  }
  std::vector<Array> init(const SolverStart& start) const {
    const detail::SolverRef ref = detail::solver_ref(solver);
    return ref.init(ref.self, start);
  }
  SolverAttempt step(const SolverStep& step) const {
    return detail::half_steps(detail::solver_ref(solver), step);
  }
  HalfInterpolation<S> interpolation() const { return {solver}; }
};
template <class S>
HalfSolver(S) -> HalfSolver<S>;

}  // namespace apsis
