#include <cmath>

#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

struct Pair {
  Array a, b;
};
struct Hollow {};
const Array x = array({1., 2.});
Array squares(const Array& y) { return y * y - 2.; }

/// A solver that does not join the elements' answers.
struct Halfway {
  static constexpr SolverTraits solver{"Halfway", SolvesFor::Root};
  Iterate start(const NonlinearProblem& problem, const Array& y) const {
    const Array f = problem.residual(y);
    return {y, max(abs(f)), abs(f) < 1e-8, array(0), {}, array(1), array(0)};
  }
  Iterate step(const NonlinearProblem& problem, const Iterate& now) const {
    return start(problem, 0.5 * now.y);
  }
};

}  // namespace

APSIS_PROVOKES(unknown_not_floating,
               "[minimize] start is i32[2]: all must be floating; convert with astype, or pass it as one of "
               "args",
               minimize([](const Array& y) { return sum(y * 1.); }, array({1, 2})))
APSIS_PROVOKES(no_unknowns, "[minimize] the start holds no arrays",
               minimize([](const Hollow&) { return Array(1.); }, Hollow{}))
APSIS_PROVOKES(solver_option, "[Newton] rtol = nan must be at least 0",
               root_find(squares, Newton{.rtol = std::nan("")}, x))
APSIS_PROVOKES(solver_iterate, "[Halfway] the Iterate of the solver has done bool[2]: it must be a scalar",
               root_find(squares, Halfway{}, x))
APSIS_PROVOKES(solve_max_steps, "[root_find] max_steps = -1 must be 0 or more",
               root_find(squares, Newton{}, x, {.max_steps = -1}))
APSIS_PROVOKES(function_leaf,
               "[root_find] result of the function is bool[2]: it must be floating and not complex",
               root_find([](const Array& y) { return y > 0.; }, Newton{}, x))
APSIS_PROVOKES(function_size,
               "[root_find] the function returns 1 elements for an unknown of 2: there must be as many "
               "equations as unknowns; least_squares takes other numbers",
               root_find([](const Array& y) { return sum(y); }, Newton{}, x))
APSIS_PROVOKES(bound_leaves,
               "[root_find] lower has 1 arrays, the start has 2: give a number, or a bound like the start",
               root_find([](const Pair& p) { return p; }, Newton{}, Pair{x, x}, {.lower = x}))
APSIS_PROVOKES(bound_shape,
               "[root_find] array 0 of upper is f64[3], which does not broadcast to start of the start",
               root_find(squares, Newton{}, x, {.upper = ones({3})}))
APSIS_PROVOKES(bounds_unknown,
               "[minimize] NelderMead does not know bounds: leave lower and upper out, or take a solver that "
               "does",
               minimize([](const Array& y) { return sum(y * y); }, NelderMead{}, x, {.lower = 0.}))
APSIS_PROVOKES(bracket_missing, "[root_find] Brent works between bounds: give lower and upper",
               root_find(squares, Brent{}, 1., {.lower = 0.}))
APSIS_PROVOKES(bracket_scalar,
               "[root_find] Bisection solves for one number, the start has 2 elements: use vmap for many, or "
               "another solver for a system",
               root_find(squares, Bisection{}, x, {.lower = 0., .upper = 2.}))
APSIS_PROVOKES(few_residuals,
               "[parameter_covariance] 2 residuals for 2 parameters: there must be more residuals than "
               "parameters",
               parameter_covariance(squares, x))
APSIS_PROVOKES(
    failed_max_steps,
    "[root_find] Newton has not converged after max_steps = 0 steps, the largest |f| = 2.0 at best: "
    "raise max_steps, loosen its tolerances, or start nearer",
    root_find(squares, Newton{}, x, {.max_steps = 0}))
APSIS_PROVOKES(
    failed_singular,
    "[root_find] the linear system of Newton has no solution after 1 steps, the largest |f| = 2.0 at "
    "best: start elsewhere, or take a solver that does without, such as least_squares with "
    "LevenbergMarquardt",
    root_find(squares, Newton{}, 0.))
APSIS_PROVOKES(failed_line_search,
               "[minimize] BFGS finds no better point after 1 steps, the loss = 0.0 at best: loosen its "
               "tolerance, or see whether the function is smooth there",
               minimize([](const Array& y) { return where(y == 0., y, 1. + y); }, BFGS{}, 0.))
APSIS_PROVOKES(
    failed_non_finite,
    "[minimize] the function or its derivative is not finite after 0 steps of BFGS, the loss = nan "
    "at best: start elsewhere, or bound the unknown",
    minimize([](const Array& y) { return log(y); }, BFGS{}, -1.))
APSIS_PROVOKES(failed_refused,
               "[root_find] the bounds are no use to Brent: lower must be below upper, a bracket must be "
               "finite, and of a root finder the function must change its sign in it",
               root_find(squares, Brent{}, 0., {.lower = 2., .upper = 3.}))

APSIS_PROVOKES(loss_scalar,
               "[minimize] the function returns f64[2]: it must be one floating scalar; reduce it, by sum or "
               "mean",
               minimize([](const Array& y) { return y * y; }, NelderMead{}, x))

APSIS_PROVOKES(operator_sizes,
               "[*] the operators are 2 × 2 (f64) and 3 × 3 (f64): give sizes that fit, and one dtype",
               identity_operator(2) * identity_operator(3))
APSIS_PROVOKES(operator_dtype,
               "[linear_solve] b is f64[2], the operator of f32: convert one of them with astype, or digits "
               "would be lost",
               linear_solve(identity_operator(2, f32), x))
APSIS_PROVOKES(operator_array, "[matrix_operator] got f64[2]: give a floating array with 2 axes",
               matrix_operator(x))
APSIS_PROVOKES(
    operator_diagonals,
    "[tridiagonal_operator] the diagonals have 1, 2 and 1 elements: give as many of each, the first "
    "of lower and the last of upper do not count",
    tridiagonal_operator(ones({1}), x, ones({1})))
APSIS_PROVOKES(operator_bands,
               "[banded_operator] 1 diagonals below and 0 above the main one do not fit f64[3,2]: give "
               "[above + 1 + below, n], neither negative",
               banded_operator({.lower = 1}, ones({3, 2})))
APSIS_PROVOKES(operator_not_square,
               "[jacobian_operator] the derivative is 1 × 2: only square ones are banded",
               jacobian_operator([](const Array& v) { return v[range(0, 1)]; }, x, {.lower = 1}))
APSIS_PROVOKES(operator_identity,
               "[identity_operator] n = -1 of f64: give n, 0 or more, and a floating dtype",
               identity_operator(-1))
APSIS_PROVOKES(operator_no_blocks, "[block_diagonal_operator] there are no blocks: give one at least",
               block_diagonal_operator({}))
APSIS_PROVOKES(operator_factor, "[LinearOperator] the factor is f64[2]: give a scalar",
               x* identity_operator(2))
APSIS_PROVOKES(operator_not_banded, "[LinearOperator] the operator is not made of diagonals: use as_matrix",
               matrix_operator(eye(2)).diagonal())
APSIS_PROVOKES(operator_vector,
               "[LinearOperator] x is f64[2], the operator 3 × 3: give a vector of 3 elements",
               identity_operator(3).mv(x))
APSIS_PROVOKES(
    operator_none,
    "[LinearOperator] the operator is empty: make it by matrix_operator or another of the functions "
    "that make operators",
    LinearOperator().mv(zeros({0})))
APSIS_PROVOKES(
    operator_function,
    "[function_operator] the function returns f64[]: it must be one vector of f64, as its argument",
    function_operator([](const Array& y) { return sum(y); }, x))
APSIS_PROVOKES(linear_solver_kind,
               "[linear_solve] CG does not suit this operator of 2 × 2: tag it positive_definite, if it is",
               linear_solve(matrix_operator(eye(2)), x, linear::CG{}))
APSIS_PROVOKES(linear_solver_right,
               "[linear_solve] b is f64[3], the operator 2 × 2: give a vector of 2 elements",
               linear_solve(identity_operator(2), ones({3})))
APSIS_PROVOKES(linear_solver_option, "[linear_solve] GMRES.restart = 0 must be 1 or more",
               linear_solve(identity_operator(2), x, linear::GMRES{.restart = 0}))
APSIS_PROVOKES(
    linear_solver_preconditioner,
    "[linear_solve] the preconditioner is 3 × 3 (f64), the operator 2 × 2 (f64): both must be square, of "
    "one size and one dtype",
    linear_solve(identity_operator(2), x, linear::GMRES{}, {.preconditioner = identity_operator(3)}))
APSIS_PROVOKES(linear_not_finite,
               "[linear_solve] the solution is not finite: the operator is singular, or it or b holds an "
               "infinity or NaN; of a singular operator linear::SVD gives the shortest solution",
               linear_solve(matrix_operator(array({{1., 2.}, {2., 4.}})), x))
APSIS_PROVOKES(
    linear_not_solved,
    "[linear_solve] the residual is 2.23606797749979, its tolerance 2.23606797749979e-07: raise "
    "max_steps, loosen rtol, or give a preconditioner; an operator that is nearly singular needs a "
    "direct solver",
    linear_solve(matrix_operator(zeros({2, 2}), {.positive_definite = true}), x, linear::CG{}))

APSIS_PROVOKES(
    operator_entries,
    "[sparse_operator] the entries are f64[2] and must be a vector of 1 real numbers, one for each "
    "entry of the pattern",
    sparse_operator({1, 1, {0, 1}, {0}}, array({1., 2.})))

APSIS_PROVOKES(operator_not_sparse,
               "[LinearOperator] the operator is not made of the entries of a sparse matrix: use as_matrix",
               matrix_operator(eye(2)).entries())

APSIS_PROVOKES(jacobian_pattern,
               "[sparse_jacobian] the pattern is 1 × 1 and the derivative 2 × 2: give one of its size, or "
               "none, and it is found",
               sparse_jacobian([](const Array& x) { return x * x; }, array({1., 2.}),
                               {.pattern = {1, 1, {0, 1}, {0}}}))

APSIS_PROVOKES(linear_no_klu,
               "[linear_solve] SparseLU is SuiteSparse's KLU, and this build of Apsis has none: install "
               "libsuitesparse-dev and configure Apsis again, or take linear::LU, or an iteration such as "
               "linear::GMRES",
               apsis::detail::require_sparse_lu(false, Loc::here()))

APSIS_PROVOKES(determinant_not_square,
               "[slogdet] the operator is 2 × 3: a determinant is that of a square one",
               slogdet(matrix_operator(ones({2, 3}))))
