#pragma once

// Solvers as the room calls them: what they return is looked at, since a user may have written them.

#include "apsis/diffeq/solver.hpp"

namespace apsis::detail {

/// The solver's own state at the start; throws if its traits are of no use, too.
std::vector<Array> checked_init(const SolverRef& solver, const SolverStart& start);
/// A step, whose parts are like what they replace: the state, and the solver's own.
SolverAttempt checked_step(const SolverRef& solver, const SolverStep& step);
/// The state within a step.
std::vector<Array> checked_interpolation(const SolverRef& solver, const DenseStep& step);

}  // namespace apsis::detail
