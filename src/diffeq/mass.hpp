#pragma once

// Equations M y' = f(t, y), M a constant matrix that may be singular.

#include <optional>

#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/linalg.hpp"
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

/// M times a vector, and M itself: of slopes without one the vector, and 1.
inline Array times_mass(const Slopes& slopes, const Array& vector) {
  return slopes.mass().is_empty() ? vector : matmul(slopes.mass(), vector);
}
inline Array mass_matrix(const Slopes& slopes, const Layout& layout) {
  return slopes.mass().is_empty() ? eye(layout.size(), -1, 0, layout.dtype()) : slopes.mass();
}

}  // namespace apsis::detail
