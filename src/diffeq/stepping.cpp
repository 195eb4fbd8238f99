// Solvers by hand: the parts that do not depend on the types of term and state.

#include "apsis/diffeq/stepping.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

/// Times run as they are: steps to either side have the length that they have.
Slopes as_they_are(const FlatTerms& terms, Dtype dtype) { return Slopes(terms, Array(1., dtype)); }

}  // namespace

FlatStart start_flat(const FlatTerms& terms, const SolverRef& solver, const Array& t0, std::vector<Array> y0,
                     Loc loc) {
  const LocScope place(loc);
  solver.check(solver.self, loc);
  if (terms.delays.slope != nullptr) fail(messages::delays_by_hand, {}, loc);
  check_state(t0, y0, terms.state, loc);
  const Dtype dtype = common_dtype({&t0, 1}, y0);
  for (Array& y : y0) y = astype(y, dtype);
  FlatStart s{astype(t0, dtype), std::move(y0), {}};
  const Slopes slopes = as_they_are(terms, dtype);
  const std::vector<Array> slope = first_slope(slopes, s.t, s.y, loc);
  s.own = checked_init(solver, {slopes, s.t, s.y, slope});
  return s;
}

SolverAttempt step_flat(const FlatTerms& terms, const SolverRef& solver, const Array& t0, const Array& t1,
                        std::span<const Array> y0, std::span<const Array> own, const Tolerances& tolerances,
                        Loc loc) {
  const LocScope place(loc);
  if (terms.delays.slope != nullptr) fail(messages::delays_by_hand, {}, loc);
  return checked_step(solver, {as_they_are(terms, t0.dtype()), t0, t1, y0, own, tolerances});
}

std::vector<Array> within_flat(const SolverRef& solver, const Array& t, const Array& t0, const Array& t1,
                               std::span<const Array> y0, std::span<const Array> y1,
                               std::span<const Array> dense, Loc loc) {
  const LocScope place(loc);
  const Array h = t1 - t0, theta = (astype(t, t0.dtype()) - t0) / h;
  return checked_interpolation(solver, {theta, h, y0, y1, dense});
}

}  // namespace apsis::detail
