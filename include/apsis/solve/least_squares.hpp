#pragma once

// Nonlinear least squares.
//
//   struct Model { Array rate, level; };
//   auto fit = least_squares([&](const Model& m) { return m.level * exp(-m.rate * t) - data; },
//                            LevenbergMarquardt{}, Model{1., 1.});
//   Model errors = standard_errors(residual, fit.value);

#include "apsis/solve/solver.hpp"

namespace apsis {

/// What large residuals cost, z being the square of a residual relative to f_scale (SciPy's `loss`).
/// `Linear`: z; `SoftL1`: 2 (√(1 + z) - 1); `Huber`: z up to 1, then 2 √z - 1; `Cauchy`: log(1 + z);
/// `Arctan`: atan(z).
enum class RobustLoss : std::uint8_t { Linear, SoftL1, Huber, Cauchy, Arctan };

/// Options of `least_squares`.
struct LeastSquaresOptions {
  std::int64_t max_steps = 1000;  ///< 0 or more
  SolveAdjoint adjoint = SolveAdjoint::Implicit;
  bool throw_ = true;                 ///< as in NonlinearOptions
  SolveBound lower = {}, upper = {};  ///< of the unknown
  RobustLoss loss = RobustLoss::Linear;
  double f_scale = 1;  ///< the size of residuals above which `loss` is not linear; above 0
  NonlinearOptions rest() const { return {max_steps, adjoint, throw_, lower, upper}; }
};

/// Steps within a trust region, by the damping that makes them end on it (Levenberg 1944, Marquardt 1963;
/// Moré, The Levenberg-Marquardt algorithm: implementation and theory, 1978), by the triangle of the scaled
/// Jacobian. Bounds hold by fixing what is on one and cutting steps to the others (Kanzow, Yamashita
/// and Fukushima 2004).
struct LevenbergMarquardt {
  /// A solution is where the next step is within xtol |y| (both scaled as the columns of the Jacobian), where
  /// neither the step's nor its model's part of the cost is more than ftol, or where no residual has a part
  /// above gtol along a column. 0 or more; less than rounding (4 ε of the dtype) counts as that.
  double xtol = 1e-10, ftol = 0, gtol = 1e-14;
  double factor = 1;  ///< the first radius, as a part of |start|, scaled; above 0
  static constexpr SolverTraits solver{"LevenbergMarquardt", SolvesFor::LeastSquares, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// Powell's dogleg within the same trust region: from the steepest descent towards the Gauss-Newton step
/// (Nocedal and Wright, Numerical Optimization, 2006, chapter 4.1).
struct Dogleg {
  double xtol = 1e-10, ftol = 0, gtol = 1e-14;  ///< as of LevenbergMarquardt
  double factor = 1;                            ///< the first radius, as a part of |start|, scaled; above 0
  static constexpr SolverTraits solver{"Dogleg", SolvesFor::LeastSquares, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};
/// The Gauss-Newton step, whether it is better or not; the shortest one where the Jacobian has not full
/// rank.
struct GaussNewton {
  double xtol = 1e-10, ftol = 0, gtol = 1e-14;  ///< as of LevenbergMarquardt
  static constexpr SolverTraits solver{"GaussNewton", SolvesFor::LeastSquares, BoundsUse::Optional};
  Iterate start(const NonlinearProblem& p, const Array& y) const;
  Iterate step(const NonlinearProblem& p, const Iterate& it) const;
};

/// y with the least ½ Σ f(y)² (or Σ of a robust loss): f returns any tree of floating arrays. Derivatives are
/// those of the gradient of the cost, with its whole Hessian, so they are exact for any residuals. See
/// root_find for the rest.
template <class F, class S, class Y>
requires(detail::is_nonlinear_solver<S>) NonlinearSolution<detail::unknown_t<Y>> least_squares(
    const F& f, const S& solver, const Y& start, const LeastSquaresOptions& options = {},
    Loc loc = Loc::here()) {
  using T = detail::unknown_t<Y>;
  constexpr bool suits = detail::solver_solves<S, SolvesFor::LeastSquares>(),
                 called = detail::is_callable_with<F, T>;
  static_assert(suits,
                "least_squares takes a solver of least squares: LevenbergMarquardt, Dogleg, GaussNewton");
  static_assert(called, "least_squares calls its function as f(y): it must take the type of the start");
  if constexpr (suits && called) {
    return detail::solve_nonlinear_tree<detail::returned_t<F, T>>(
        {"least_squares", SolvesFor::LeastSquares, options.loss, options.f_scale}, f, solver, T(start),
        options.rest(), loc);
  } else {
    return {};
  }
}
/// The same of f(y, args).
template <class F, class S, class Y, class Args>
requires(detail::is_nonlinear_solver<S> && !std::is_same_v<Args, LeastSquaresOptions>)
    NonlinearSolution<detail::unknown_t<Y>> least_squares(const F& f, const S& solver, const Y& start,
                                                          const Args& args,
                                                          const LeastSquaresOptions& options = {},
                                                          Loc loc = Loc::here()) {
  return least_squares(detail::WithArgs<F, Args>{f, args}, solver, start, options, loc);
}
/// The same by `LevenbergMarquardt`.
template <class F, class Y>
requires(!detail::is_nonlinear_solver<Y>) NonlinearSolution<detail::unknown_t<Y>> least_squares(
    const F& f, const Y& start, const LeastSquaresOptions& options = {}, Loc loc = Loc::here()) {
  return least_squares(f, LevenbergMarquardt{}, start, options, loc);
}

/// The covariance of the parameters of a fit at `at`, its solution: [n, n] in the order of leaves. The
/// residuals' variance Σ f² / (m - n) times (JᵀJ)⁻¹, by the singular values of J. Infinite for parameters
/// that the residuals do not determine, as in SciPy's curve_fit. `f` is the plain residual: after a fit with
/// a robust loss, outliers count in full. Throws unless there are more residuals than parameters.
template <class F, class Y>
Array parameter_covariance(const F& f, const Y& at, Loc loc = Loc::here()) {
  auto function = [&f](const Y& y) { return detail::returned_t<F, Y>(f(y)); };
  detail::FlatFunction<decltype(function), Y> flat(function, at);
  flat.name_arguments({"at"});
  return detail::covariance_flat(detail::callee_of(flat), flat.leaves(), loc);
}
/// The square roots of its diagonal, like `at`.
template <class F, class Y>
Y standard_errors(const F& f, const Y& at, Loc loc = Loc::here()) {
  auto function = [&f](const Y& y) { return detail::returned_t<F, Y>(f(y)); };
  detail::FlatFunction<decltype(function), Y> flat(function, at);
  flat.name_arguments({"at"});
  return detail::with_leaves(at, detail::standard_errors_flat(detail::callee_of(flat), flat.leaves(), loc));
}

}  // namespace apsis
