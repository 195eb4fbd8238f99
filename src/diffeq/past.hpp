#pragma once

// States of the past, for equations with delays.

#include "apsis/diffeq/solve.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {

/// What a DelayTerm's vector field sees of the steps made so far. It looks at the loop's state, of which it
/// is told wherever slopes are evaluated.
class PastStates {
 public:
  /// `terms` and `solver` must outlive it. `t0` runs forwards; empty terms: there are no delays.
  PastStates(const FlatTerms& terms, const SolverRef& solver, const Array& t0, const Array& direction,
             std::span<const Array> y0);
  PastStates(const PastStates&) = delete;
  const PastLookup& lookup() const { return lookup_; }
  /// The past is that of `s` from now on; `end`: of the step of which slopes will be asked for, so that what
  /// lies at an end of a piece is taken from the right side; empty outside of steps.
  void look(const LoopState& s, const Array& end);

 private:
  std::vector<Array> at(const Array& t, const Array& now, Loc loc) const;

  const FlatTerms& terms_;
  const SolverRef& solver_;
  Array t0_, direction_;
  std::vector<Array> y0_;
  PastLookup lookup_;
  DenseSteps<std::vector<Array>> steps_;  // of no count: nothing was made yet
  Array start_, middle_;                  // of the step; no middle outside of steps
};

/// Refuses delays and histories that are none.
void check_delays(InputChecks& checks, const FlatTerms& terms, const GivenTimes& times,
                  std::span<const Array> y0, const SolveOptions& options);
/// The options with steps that end where the delays have the solution's derivatives jump.
SolveOptions with_breaks(const SolveOptions& options, const FlatTerms& terms, const SolverRef& solver,
                         const Array& t0, Dtype dtype, const Array& direction);
/// The shortest delay; empty if there are none.
Array shortest_delay(const FlatTerms& terms, Dtype dtype);
/// `end`, or what is the shortest delay behind `start`, if that comes before by more than rounding.
Array within_delay(const Problem& p, const Array& start, const Array& end);

}  // namespace apsis::detail
