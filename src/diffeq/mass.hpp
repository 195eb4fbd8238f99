#pragma once

// Equations M y' = f(t, y), M a constant matrix that may be singular.

#include <optional>

#include "apsis/diffeq/solve.hpp"
#include "diffeq/layout.hpp"

namespace apsis::detail {

/// M over the state as one vector, its pseudoinverse, and the algebraic equations left · f = 0 for what
/// `right` spans of the state: [k, n] and [n, k], k = 0 for a regular M.
struct Mass {
  Array matrix, pseudoinverse, left, right;
};
/// Throws if M fits neither the state nor the solver, or is not known.
Mass mass_of(const Array& given, const SolverRef& solver, std::span<const Array> y0, Loc loc);

/// The state nearby that fulfils the algebraic equations, and whether there is one; its derivative is that of
/// these equations. Empty: there are none.
std::pair<std::vector<Array>, Array> consistent_state(const Mass& mass, const Slopes& slopes,
                                                      const Tolerances& tolerances, const Array& t,
                                                      std::span<const Array> y);

}  // namespace apsis::detail
