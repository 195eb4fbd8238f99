#pragma once

// Solvers by hand, a step at a time, for loops of your own.
//
//   auto now = solver_start(term, Tsit5{}, 0., y0);
//   while (now.t.item<double>() < 1.) {
//     auto attempt = solver_step(term, Tsit5{}, now, now.t + 0.01);   // .next, .error, .failed
//     now = attempt.next;
//   }
//
// What is carried is a tree: under jit the loop is a `while_loop` or a `scan` over it.

#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/convert.hpp"

namespace apsis {

/// Where a solver is: the time, the state, and what the solver keeps of its own.
template <class Y>
struct SolverState {
  Array t;
  Y y;
  std::vector<Array> own;
};
/// One step, or the attempt at it.
template <class Y>
struct SolverStepped {
  SolverState<Y> before, next;
  Y error;                   ///< estimated, of next.y; its leaves are empty where the solver estimates none
  Array failed;              ///< a boolean: `next` is of no use; empty: a step by this solver never fails
  std::vector<Array> dense;  ///< what dense output needs
};

namespace detail {

struct FlatStart {
  Array t;
  std::vector<Array> y, own;
};
FlatStart start_flat(const FlatTerms& terms, const SolverRef& solver, const Array& t0, std::vector<Array> y0,
                     Loc loc);
SolverAttempt step_flat(const FlatTerms& terms, const SolverRef& solver, const Array& t0, const Array& t1,
                        std::span<const Array> y0, std::span<const Array> own, const Tolerances& tolerances,
                        Loc loc);
std::vector<Array> within_flat(const SolverRef& solver, const Array& t, const Array& t0, const Array& t1,
                               std::span<const Array> y0, std::span<const Array> y1,
                               std::span<const Array> dense, Loc loc);

template <class Y>
std::vector<Array> leaves_of(const Y& tree) {
  std::vector<Array> leaves;
  collect_leaves(tree, leaves);
  return leaves;
}

}  // namespace detail

/// Where `solver` begins: at t0 with y0, which are promoted to one floating dtype. Throws where diffeqsolve
/// would for the solver, the slope or the dtype of the state.
template <class Term, class S, class Y>
requires detail::SolveCall<Term, S, Y, SolveOptions>
auto solver_start(const Term& term, const S& solver, const Array& t0, const Y& y0, Loc loc = Loc::here()) {
  using State = detail::argument_t<Y>;
  const State like = y0;
  const detail::NamedTree named{tree_ref(like), "y0"};
  const detail::TermsOf<Term, State> terms{term, like};
  detail::FlatStart s = detail::start_flat(terms.flat(detail::names_of(named)), detail::solver_ref(solver),
                                           t0, detail::leaves_of(like), loc);
  return SolverState<State>{s.t, detail::with_leaves(like, s.y), std::move(s.own)};
}

/// One step of `solver` from where it is to t1, on either side. Implicit solvers need the tolerances of their
/// equations, here or as their own option. Whether the step is good enough is yours to say, by `error`.
template <class Term, class S, class Y>
requires detail::SolveCall<Term, S, Y, SolveOptions> SolverStepped<Y> solver_step(
    const Term& term, const S& solver, const SolverState<Y>& now, const Array& t1,
    const Tolerances& tolerances = {}, Loc loc = Loc::here()) {
  const detail::NamedTree named{tree_ref(now.y), "y"};
  const detail::TermsOf<Term, Y> terms{term, now.y};
  const Array end = astype(t1, now.t.dtype());
  const SolverAttempt s = detail::step_flat(terms.flat(detail::names_of(named)), detail::solver_ref(solver),
                                            now.t, end, detail::leaves_of(now.y), now.own, tolerances, loc);
  SolverStepped<Y> stepped{now, {end, detail::with_leaves(now.y, s.y1), s.state}, now.y, s.failed, s.dense};
  if (s.error.empty())
    detail::clear_leaves(stepped.error);
  else
    stepped.error = detail::with_leaves(now.y, s.error);
  return stepped;
}

/// The state at t, within a step, by the solver's dense output.
template <class S, class Y>
requires Solver<S> Y solver_interpolate(const S& solver, const SolverStepped<Y>& step, const Array& t,
                                        Loc loc = Loc::here()) {
  return detail::with_leaves(
      step.before.y,
      detail::within_flat(detail::solver_ref(solver), t, step.before.t, step.next.t,
                          detail::leaves_of(step.before.y), detail::leaves_of(step.next.y), step.dense, loc));
}

}  // namespace apsis
