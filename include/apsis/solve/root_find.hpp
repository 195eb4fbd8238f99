#pragma once

// Roots: y with f(y) = 0, f a function of any tree of floating arrays.
//
//   struct State { Array x, y; };
//   auto sol = root_find([&](const State& s) { return State{s.x * s.x - a, s.x * s.y - 1.}; }, Newton{},
//                        State{1., 1.});
//   sol.value.x;                                // differentiable with respect to a

#include "apsis/solve/solver.hpp"

namespace apsis {

/// Newton's method: a Jacobian (forward mode) and an LU solve in each step. With bounds, steps are cut to
/// them.
struct Newton {
  /// A solution is where the last step is within atol + rtol |y| in every element; of Chord and Broyden what
  /// is left of it at the rate of the last two steps. 0 or more; less than rounding (4 ε of the dtype) counts
  /// as that.
  double rtol = 1e-8, atol = 1e-8;
  static constexpr SolverTraits solver{"Newton", SolvesFor::Root, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// Newton's method with the Jacobian of the start for all steps.
struct Chord {
  double rtol = 1e-8, atol = 1e-8;  ///< as of Newton
  static constexpr SolverTraits solver{"Chord", SolvesFor::Root, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// Steps by an approximate inverse Jacobian that begins as that of the start and learns from each step
/// (Broyden, A class of methods for solving nonlinear simultaneous equations, 1965: the first one).
struct Broyden {
  double rtol = 1e-8, atol = 1e-8;  ///< as of Newton
  static constexpr SolverTraits solver{"Broyden", SolvesFor::Root, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// Halves the interval from `lower` to `upper`, in which a function of one number must change its sign. Of
/// the start only shape and dtype count.
struct Bisection {
  double rtol = 1e-8, atol = 1e-8;  ///< the last interval is within atol + rtol |y|
  static constexpr SolverTraits solver{"Bisection", SolvesFor::Root, BoundsUse::Bracket};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// Interpolates within the interval from `lower` to `upper`, and halves it where that is safer (Brent,
/// Algorithms for Minimization without Derivatives, 1973, chapter 4). As Bisection otherwise.
struct Brent {
  double rtol = 1e-8, atol = 1e-8;  ///< the last interval is within atol + rtol |y|
  static constexpr SolverTraits solver{"Brent", SolvesFor::Root, BoundsUse::Bracket};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};

/// y with f(y) = 0: f returns any tree of floating arrays, together of as many elements as the start. A
/// number as start is a scalar Array. An ordinary program: jit and vmap it (each lane takes its own steps);
/// by default its derivatives are those of the equation (see SolveAdjoint). Throws before it starts where
/// shapes, dtypes or options are no use; and when it fails, unless options.throw_ is false.
template <class F, class S, class Y>
requires(detail::is_nonlinear_solver<S>) NonlinearSolution<detail::unknown_t<Y>> root_find(
    const F& f, const S& solver, const Y& start, const NonlinearOptions& options = {},
    Loc loc = Loc::here()) {
  using T = detail::unknown_t<Y>;
  constexpr bool suits = detail::solver_solves<S, SolvesFor::Root>(), called = detail::is_callable_with<F, T>;
  static_assert(suits, "root_find takes a solver of roots: Newton, Chord, Broyden, Bisection, Brent");
  static_assert(called, "root_find calls its function as f(y): it must take the type of the start");
  if constexpr (suits && called) {
    return detail::solve_nonlinear_tree<detail::returned_t<F, T>>({"root_find", SolvesFor::Root}, f, solver,
                                                                  T(start), options, loc);
  } else {
    return {};
  }
}
/// The same of f(y, args).
template <class F, class S, class Y, class Args>
requires(detail::is_nonlinear_solver<S> && !std::is_same_v<Args, NonlinearOptions>)
    NonlinearSolution<detail::unknown_t<Y>> root_find(const F& f, const S& solver, const Y& start,
                                                      const Args& args, const NonlinearOptions& options = {},
                                                      Loc loc = Loc::here()) {
  return root_find(detail::WithArgs<F, Args>{f, args}, solver, start, options, loc);
}
/// The same by `Newton`.
template <class F, class Y>
requires(!detail::is_nonlinear_solver<Y>) NonlinearSolution<detail::unknown_t<Y>> root_find(
    const F& f, const Y& start, const NonlinearOptions& options = {}, Loc loc = Loc::here()) {
  return root_find(f, Newton{}, start, options, loc);
}

}  // namespace apsis
