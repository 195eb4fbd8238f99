#pragma once

// Minimisation.
//
//   auto found = minimize(loss, start);                       // BFGS
//   auto other = minimize(loss, LBFGS{.gtol = 1e-6}, start, {.lower = 0.});
//   found.value; found.objective; found.stats.steps;

#include "apsis/solve/solver.hpp"

namespace apsis {

/// Quasi-Newton steps with a whole inverse Hessian, and a line search that comes back until the loss falls
/// enough (Nocedal and Wright, Numerical Optimization, 2006, chapters 3 and 6). Points where the loss is not
/// finite are stepped back from. With bounds, of what no bound holds, the search along the path of
/// projections (Bertsekas, Projected Newton methods, 1982).
struct BFGS {
  /// A minimum is where no element of the gradient is above gtol (of those that a bound holds, none counts);
  /// or, where steps no longer change the loss but by rounding. 0 or more.
  double gtol = 1e-8;
  static constexpr SolverTraits solver{"BFGS", SolvesFor::Minimum, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// The same by the last memory_size steps in place of a matrix (Liu and Nocedal 1989; Nocedal and Wright,
/// algorithm 7.4).
struct LBFGS {
  double gtol = 1e-8;             ///< as of BFGS
  std::int64_t memory_size = 10;  ///< 1 to 1000
  static constexpr SolverTraits solver{"LBFGS", SolvesFor::Minimum, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// Along the gradient: steps of learning_rate; where that is 0, of a searched length that begins with
/// Barzilai and Borwein's (1988).
struct GradientDescent {
  double gtol = 1e-8;  ///< as of BFGS
  double learning_rate = 0;
  static constexpr SolverTraits solver{"GradientDescent", SolvesFor::Minimum, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// How NonlinearCG makes a direction of the gradients before: Polak and Ribière's, 0 where that is negative;
/// Fletcher and Reeves's; Hestenes and Stiefel's; Dai and Yuan's.
enum class ConjugateRule : std::uint8_t { PolakRibiere, FletcherReeves, HestenesStiefel, DaiYuan };

/// Conjugate gradients (Nocedal and Wright, chapter 5.2), from the gradient again where that is not downhill.
struct NonlinearCG {
  double gtol = 1e-8;  ///< as of BFGS
  ConjugateRule rule = ConjugateRule::PolakRibiere;
  static constexpr SolverTraits solver{"NonlinearCG", SolvesFor::Minimum};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// Newton steps within a trust region, by conjugate gradients on products with the Hessian (Steihaug 1983;
/// Nocedal and Wright, algorithms 4.1 and 7.2). Passes saddles and regions of negative curvature.
struct TrustNewtonCG {
  double gtol = 1e-8;       ///< as of BFGS
  double first_radius = 1;  ///< above 0
  static constexpr SolverTraits solver{"TrustNewtonCG", SolvesFor::Minimum};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// The downhill simplex of Nelder and Mead (1965), with the factors of Gao and Han (2012). Needs no gradient,
/// but for derivatives of the result.
struct NelderMead {
  double xatol = 1e-8, fatol = 1e-8;  ///< where all corners are within both of the best; 0 or more
  static constexpr SolverTraits solver{"NelderMead", SolvesFor::Minimum};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// Cuts the interval from `lower` to `upper` by the golden section (Kiefer 1953). For a function of one
/// number; of the start only shape and dtype count.
struct GoldenSection {
  double rtol = 1e-8, atol = 1e-8;  ///< where the interval is within atol + rtol |y|
  static constexpr SolverTraits solver{"GoldenSection", SolvesFor::Minimum, BoundsUse::Bracket};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};

/// A local minimum of a real scalar function of a tree of floating arrays. See root_find for the rest; the
/// derivatives are those of the equation gradient = 0. Throws where `f` is no real scalar, too.
template <class F, class S, class Y>
requires(detail::is_nonlinear_solver<S>) NonlinearSolution<detail::unknown_t<Y>> minimize(
    const F& f, const S& solver, const Y& start, const NonlinearOptions& options = {},
    Loc loc = Loc::here()) {
  using T = detail::unknown_t<Y>;
  constexpr bool suits = detail::solver_solves<S, SolvesFor::Minimum>(),
                 called = detail::is_callable_with<F, T>;
  static_assert(suits,
                "minimize takes a solver of minima: BFGS, LBFGS, GradientDescent, NonlinearCG, "
                "TrustNewtonCG, NelderMead, GoldenSection");
  static_assert(called, "minimize calls its function as f(y): it must take the type of the start");
  if constexpr (suits && called) {
    static_assert(detail::returns_into<Array, F, T>, "the function of minimize must return a scalar Array");
    return detail::solve_nonlinear_tree<Array>({"minimize", SolvesFor::Minimum}, f, solver, T(start), options,
                                               loc);
  } else {
    return {};
  }
}
/// The same of f(y, args).
template <class F, class S, class Y, class Args>
requires(detail::is_nonlinear_solver<S> && !std::is_same_v<Args, NonlinearOptions>)
    NonlinearSolution<detail::unknown_t<Y>> minimize(const F& f, const S& solver, const Y& start,
                                                     const Args& args, const NonlinearOptions& options = {},
                                                     Loc loc = Loc::here()) {
  return minimize(detail::WithArgs<F, Args>{f, args}, solver, start, options, loc);
}
/// The same by `BFGS`.
template <class F, class Y>
requires(!detail::is_nonlinear_solver<Y>) NonlinearSolution<detail::unknown_t<Y>> minimize(
    const F& f, const Y& start, const NonlinearOptions& options = {}, Loc loc = Loc::here()) {
  return minimize(f, BFGS{}, start, options, loc);
}

}  // namespace apsis
