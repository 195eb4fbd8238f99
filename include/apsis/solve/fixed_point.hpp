#pragma once

// Fixed points: y with f(y) = y.
//
//   auto sol = fixed_point([](const Array& y) { return cos(y); }, Anderson{}, 1.);

#include "apsis/solve/solver.hpp"

namespace apsis {

/// y = f(y), again and again.
struct FixedPointIteration {
  /// A solution is where the last step, or what is left of it at the rate of the last two, is within atol +
  /// rtol |y| in every element. 0 or more; less than rounding (4 ε of the dtype) counts as that.
  double rtol = 1e-8, atol = 1e-8;
  static constexpr SolverTraits solver{"FixedPointIteration", SolvesFor::FixedPoint};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// The combination of the last steps that would have moved least (Anderson 1965; Walker and Ni, Anderson
/// acceleration for fixed-point iterations, 2011).
struct Anderson {
  double rtol = 1e-8, atol = 1e-8;  ///< where |f(y) - y| is within atol + rtol |y| in every element
  std::int64_t memory_size = 5;     ///< steps that are combined; 1 or more
  double mixing = 1;                ///< the part of f in the new point; above 0
  static constexpr SolverTraits solver{"Anderson", SolvesFor::FixedPoint};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};

/// y with f(y) = y, for f from a tree of floating arrays to its like. See root_find for the rest.
template <class F, class S, class Y>
requires(detail::is_nonlinear_solver<S>) NonlinearSolution<detail::unknown_t<Y>> fixed_point(
    const F& f, const S& solver, const Y& start, const NonlinearOptions& options = {},
    Loc loc = Loc::here()) {
  using T = detail::unknown_t<Y>;
  constexpr bool suits = detail::solver_solves<S, SolvesFor::FixedPoint>(),
                 called = detail::is_callable_with<F, T>;
  static_assert(suits, "fixed_point takes a solver of fixed points: FixedPointIteration, Anderson");
  static_assert(called, "fixed_point calls its function as f(y): it must take the type of the start");
  if constexpr (suits && called) {
    static_assert(detail::returns_into<T, F, T>,
                  "the function of fixed_point must return the type of the start");
    return detail::solve_nonlinear_tree<T>({"fixed_point", SolvesFor::FixedPoint}, f, solver, T(start),
                                           options, loc);
  } else {
    return {};
  }
}
/// The same of f(y, args).
template <class F, class S, class Y, class Args>
requires(detail::is_nonlinear_solver<S> && !std::is_same_v<Args, NonlinearOptions>)
    NonlinearSolution<detail::unknown_t<Y>> fixed_point(const F& f, const S& solver, const Y& start,
                                                        const Args& args,
                                                        const NonlinearOptions& options = {},
                                                        Loc loc = Loc::here()) {
  return fixed_point(detail::WithArgs<F, Args>{f, args}, solver, start, options, loc);
}
/// The same by `FixedPointIteration`.
template <class F, class Y>
requires(!detail::is_nonlinear_solver<Y>) NonlinearSolution<detail::unknown_t<Y>> fixed_point(
    const F& f, const Y& start, const NonlinearOptions& options = {}, Loc loc = Loc::here()) {
  return fixed_point(f, FixedPointIteration{}, start, options, loc);
}

}  // namespace apsis
