#pragma once

// Newton's method with one matrix for all iterations, as solvers with implicit stages use it.

#include <limits>

#include "apsis/array/linalg.hpp"
#include "apsis/control/implicit.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/diffeq/implicit.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/matrix_form.hpp"

namespace apsis::detail {

/// `size` is that of the last change of the stage's state, in the tolerances of the solve: there, and not in
/// the slopes, since slopes of stiff equations are large, and their rounding is more than any tolerance.
struct Iteration {
  Array u, size, previous, count;
  Array rate() const { return size / previous; }
  Array is_small() const { return size < (size.dtype() == Dtype::F64 ? 1e-13 : 1e-4); }
  Array has_converged(double kappa) const {
    const Array left = size * rate() / (1 - rate());
    return left > 0 && left < kappa;
  }
  /// A change that grows while it is within the tolerances followed one that was small by chance. Beyond
  /// them the second may, where what changes at first is another part of the state.
  Array has_diverged() const { return !isfinite(rate()) || (rate() > 2 && size > 1 && count > 2); }
};

/// A root, whether it was found, and the rate of convergence: how large the last change was by the one
/// before; and how many iterations were made.
struct NewtonEnd {
  Array u, found, rate, count;
};
/// The u where `change(u)`, what Newton's method takes off it, is 0. `size(change, u)`: that of a change, as
/// Iteration has it. What was not found is the start: it has no derivative either, and the step is rejected.
template <class Change, class Size>
NewtonEnd newton_end(const NewtonOptions& newton, const Array& start, const Change& change,
                     const Size& size) {
  const auto goes_on = [&](const Iteration& s) {
    return s.count < newton.max_steps &&
           !(s.count >= 2 && (s.is_small() || s.has_diverged() || s.has_converged(newton.kappa)));
  };
  const auto again = [&](const Iteration& s) {
    const Array step = change(s.u), u = s.u - step;
    return Iteration{u, size(step, u), s.size, s.count + 1};
  };
  const Array one = ones({}, start.dtype());
  const Iteration begin{start, one * std::numeric_limits<double>::infinity(), one, array(std::int64_t{0})};
  const Iteration end = while_loop(goes_on, again, begin, {.kind = Loop::Lax});
  const Array found =
      end.count >= 2 && (end.is_small() || (end.has_converged(newton.kappa) && !end.has_diverged()));
  return {where(found, end.u, start), found, end.rate(), end.count};
}
/// What changes of the state are small: rtol and atol of `newton`, or else of the controller, as vectors or
/// scalars. Throws without either.
struct NewtonTolerances {
  Array rtol, atol;
  NewtonTolerances(const NewtonOptions& newton, const char* method, const SolverStep& s,
                   const Layout& layout);
  Array allowed(const Array& y) const { return atol + rtol * abs(y); }
};

}  // namespace apsis::detail
