#pragma once

// What root_find, fixed_point, least_squares and minimize share: their solvers, options and results.
//
//   auto sol = root_find(f, Newton{.rtol = 1e-10}, start, {.max_steps = 50});
//   sol.value;  // like start
//
// A solver is any struct with a constant `solver` (a SolverTraits) and two functions on the problem, in which
// the unknown is one vector: `start(problem, y)` and `step(problem, iterate)`, each giving an Iterate.

#include "apsis/transform/grad.hpp"
#include "apsis/tree/any_tree.hpp"

namespace apsis {

/// Where derivatives of a solution come from. `Implicit`: the implicit function theorem at the solution, one
/// linear solve whatever the iterations were; the derivative with respect to the start is zero. `Unrolled`:
/// the iterations themselves.
enum class SolveAdjoint : std::uint8_t { Implicit, Unrolled };

/// How an iteration ended.
enum class NonlinearResult : std::int64_t {
  Successful = 0,
  MaxStepsReached = 1,
  Singular = 2,          ///< a linear system had no solution
  LineSearchFailed = 3,  ///< no step was found that is better
  NonFinite = 9,         ///< the function, or its derivative, is not finite
  Refused = 100          ///< the bounds were no use: no change of sign between them, or in the wrong order
};

/// A bound of the unknown: a scalar for all of it, or a tree like it whose leaves broadcast to its leaves.
/// Infinite where there is none.
class SolveBound {
  APSIS_FIELDS(SolveBound, tree_)

 public:
  SolveBound() = default;
  template <class T>
  requires(!std::is_same_v<T, SolveBound> && !std::is_same_v<T, AnyTree>) SolveBound(const T& tree)
      : tree_(std::conditional_t<std::is_arithmetic_v<T>, Array, T>(tree)) {}
  bool is_given() const { return tree_.type() != nullptr; }
  const AnyTree& tree() const { return tree_; }

 private:
  AnyTree tree_;
};

/// Options of `root_find`, `fixed_point` and `minimize`.
struct NonlinearOptions {
  std::int64_t max_steps = 1000;  ///< 0 or more
  SolveAdjoint adjoint = SolveAdjoint::Implicit;
  /// Whether a solve that does not succeed throws when it runs; otherwise see NonlinearSolution::result.
  bool throw_ = true;
  /// Of the unknown, for solvers that know bounds; those that work on a bracket need both.
  SolveBound lower = {}, upper = {};
};

/// How much a solve did. All i64.
struct NonlinearStats {
  Array steps;
  Array evaluations;  ///< of the function
  Array derivatives;  ///< gradients, Jacobians, products with Hessians
};

/// What a solve returns.
template <class Y>
struct NonlinearSolution {
  Y value;  ///< the solution; where the solve did not succeed, the best point it has seen
  /// There: the loss of minimize, half the sum of squares of least_squares, the largest |f| of root_find and
  /// |f(y) - y| of fixed_point. Differentiable.
  Array objective;
  Array result;  ///< i64: a NonlinearResult
  NonlinearStats stats;
};

/// What a solver is for.
enum class SolvesFor : std::uint8_t { Root, FixedPoint, LeastSquares, Minimum };
/// What a solver makes of bounds.
enum class BoundsUse : std::uint8_t { None, Optional, Bracket };
/// What a solver says of itself.
struct SolverTraits {
  const char* name;
  SolvesFor solves;
  BoundsUse bounds = BoundsUse::None;
};

/// See least_squares.hpp.
enum class RobustLoss : std::uint8_t;

namespace detail {
struct ProblemParts;
}

/// The problem that a solver sees: the unknown is a vector y of [n], f(y) a vector of [m] (m = n for roots).
class NonlinearProblem {
 public:
  explicit NonlinearProblem(const detail::ProblemParts& parts) : parts_(parts) {}
  /// f(y); of a fixed point f(y) - y.
  Array residual(const Array& y) const;
  /// The same and its Jacobian [m, n].
  std::pair<Array, Array> residual_and_jacobian(const Array& y) const;
  /// What residuals cost: half the sum of squares, or of the robust loss; and the scaled residuals and
  /// Jacobian whose Gauss-Newton model is that of the cost (Triggs et al., Bundle Adjustment, 2000).
  Array cost(const Array& residual) const;
  std::pair<Array, Array> scaled(const Array& residual, const Array& jacobian) const;
  /// The loss of a minimisation (the cost of least squares), its gradient, and its Hessian times v.
  Array loss(const Array& y) const;
  std::pair<Array, Array> loss_and_gradient(const Array& y) const;
  Array hessian_product(const Array& y, const Array& v) const;
  /// Bounds [n], infinite where there are none; the nearest point between them.
  bool bounded() const;
  const Array& lower() const;
  const Array& upper() const;
  Array project(const Array& y) const;
  /// The active bounds: where y is on one and -gradient leads out.
  Array active(const Array& y, const Array& gradient) const;
  /// The rounding ε of the unknown: that of the least precise of its dtypes.
  double epsilon() const;
  /// What is beyond rounding: `tolerance`, or 4 ε if that is more.
  double at_least_rounding(double tolerance) const;
  /// Throws unless lo ≤ value ≤ hi (lo < value with `above`). NaN is refused.
  void check(const char* option, double value, double lo, double hi, bool above = false) const;
  Dtype dtype() const;
  Loc loc() const;

 private:
  const detail::ProblemParts& parts_;
};

/// Where an iteration stands.
struct Iterate {
  Array y;
  Array measure;                   ///< the size of the residual, or the loss: the least one is the best
  Array done;                      ///< whether y is the solution
  Array code;                      ///< i64: a NonlinearResult, 0 to go on
  std::vector<Array> state;        ///< the solver's own
  Array evaluations, derivatives;  ///< i64: made so far
};

/// A method of solution; see the top of this header.
template <class S>
concept NonlinearSolver = requires(const S& s, const NonlinearProblem& p, const Array& y, const Iterate& it) {
  { s.start(p, y) } -> std::same_as<Iterate>;
  { s.step(p, it) } -> std::same_as<Iterate>;
  { S::solver.solves } -> std::convertible_to<SolvesFor>;
};

namespace detail {

struct ErasedSolver {
  const void* solver;
  Iterate (*start)(const void*, const NonlinearProblem&, const Array&);
  Iterate (*step)(const void*, const NonlinearProblem&, const Iterate&);
  SolverTraits traits;
};
template <class S>
ErasedSolver erase_solver(const S& solver) {
  return {&solver,
          [](const void* s, const NonlinearProblem& p, const Array& y) {
            return static_cast<const S*>(s)->start(p, y);
          },
          [](const void* s, const NonlinearProblem& p, const Iterate& it) {
            return static_cast<const S*>(s)->step(p, it);
          },
          S::solver};
}

struct FlatSolved {
  std::vector<Array> value;
  Array objective, result;
  NonlinearStats stats;
};
/// What is asked of a function.
struct NonlinearCall {
  const char* name;
  SolvesFor kind;
  RobustLoss loss = {};
  double f_scale = 1;
};
FlatSolved solve_nonlinear(const NonlinearCall& call, const Callee& f, std::span<const Array> start,
                           const ErasedSolver& solver, const NonlinearOptions& options, Loc loc);
std::vector<Array> standard_errors_flat(const Callee& f, std::span<const Array> at, Loc loc);
Array covariance_flat(const Callee& f, std::span<const Array> at, Loc loc);

template <class S>
inline constexpr bool is_nonlinear_solver = NonlinearSolver<S>;
template <class S, SolvesFor kind>
constexpr bool solver_solves() {
  if constexpr (is_nonlinear_solver<S>)
    return S::solver.solves == kind;
  else
    return false;
}

/// What `f` returns for a start of type Y.
template <class F, class Y>
using returned_t = std::decay_t<std::invoke_result_t<const F&, const Y&>>;
/// The unknown of a start.
template <class Y>
using unknown_t = std::conditional_t<std::is_arithmetic_v<Y>, Array, Y>;

/// `R`: what f returns, as it is flattened.
template <class R, class F, class S, class Y>
NonlinearSolution<Y> solve_nonlinear_tree(const NonlinearCall& call, const F& f, const S& solver,
                                          const Y& start, const NonlinearOptions& options, Loc loc) {
  auto function = [&f](const Y& y) { return R(f(y)); };
  FlatFunction<decltype(function), Y> flat(function, start);
  flat.name_arguments({"start"});
  FlatSolved s = solve_nonlinear(call, callee_of(flat), flat.leaves(), erase_solver(solver), options, loc);
  return {with_leaves(start, s.value), s.objective, s.result, s.stats};
}

/// `f(y, args)` as a function of y.
template <class F, class Args>
struct WithArgs {
  const F& f;
  const Args& args;
  template <class Y>
  requires is_callable_with<F, Y, Args>
  auto operator()(const Y& y) const { return f(y, args); }
};

}  // namespace detail
}  // namespace apsis
