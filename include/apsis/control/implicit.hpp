#pragma once

// Implicit differentiation: derivatives of what an equation defines, not of the iterations that solved it.
//
//   // x with f(x) = 0, by any method; differentiable with respect to what f captures
//   Array root = custom_root([&](const Array& x) { return x * x * x - a; }, array(1.),
//                            [](const auto& f, const Array& x0) { return newton(f, x0); },
//                            [](const auto& slope, const Array& y) { return y / slope(ones_like(y)); });

#include "apsis/control/custom.hpp"
#include "apsis/transform/linear_transpose.hpp"

namespace apsis {

/// A linear map on values like `like`, given to the solvers of custom_linear_solve and custom_root.
template <class T>
struct LinearMap {
  detail::LinearProgram program;
  T like;
  bool transposed;
  LinearMap(const detail::LinearProgram& p, const T& l, bool t) : program(p), like(l), transposed(t) {}
  T operator()(const T& x) const {
    std::vector<Array> leaves, found;
    detail::collect_at(like, x, leaves);
    found = transposed ? program.pull(leaves) : program.push(leaves);
    return detail::with_leaves(like, found);
  }
};

/// Options of `custom_linear_solve`.
struct LinearSolveOptions {
  /// The map is its own transpose: then one solver serves both.
  bool symmetric = false;
};

namespace detail {

/// Flat solvers: (program, right side) → solution; the program is applied transposed for the adjoint.
using FlatSolve = void (*)(const void* context, const LinearProgram& program, bool transposed,
                           std::span<const Array> right, std::vector<Array>& out);
struct LinearSolver {
  const void* context;
  FlatSolve run;  // null: there is none
};
std::vector<Array> custom_linear_solve_call(const Callee& map, std::span<const Array> right,
                                            const LinearSolver& solve, const LinearSolver& adjoint,
                                            bool symmetric, Loc loc);
/// `solve`: start → (root, more…); `tangent`: solves with the derivative of `f` at the root.
std::vector<Array> custom_root_call(const Callee& f, std::span<const Array> start, const Callee& solve,
                                    const LinearSolver& tangent, Loc loc);

template <class B, class Solve>
struct SolverOf {
  const Solve& solve;
  const B& like;
  static void run(const void* context, const LinearProgram& program, bool transposed,
                  std::span<const Array> right, std::vector<Array>& out) {
    const auto& self = *static_cast<const SolverOf*>(context);
    B solution = self.solve(LinearMap<B>(program, self.like, transposed), with_leaves(self.like, right));
    collect_at(self.like, solution, out);
  }
  operator LinearSolver() const { return {this, &run}; }
};

/// What a root finder may return for a start of type `X`.
template <class R, class X>
inline constexpr bool is_root_result = std::is_convertible_v<R, X>;
template <class Root, class Aux, class X>
inline constexpr bool is_root_result<std::pair<Root, Aux>, X> = std::is_same_v<Root, X>;

// What is asked of the functions of a solve: `fit`, and, where they do not, a sentence each in `Refused`.
template <class Map, class B, class... Solve>
struct LinearSolveFit {
  static constexpr bool called = is_callable_with<Map, B>;
  static constexpr bool maps = std::is_convertible_v<rule_result_t<Map, B>, B>;
  static constexpr bool solved = (is_callable_with<Solve, LinearMap<B>, B> && ...);
  static constexpr bool solves = (std::is_convertible_v<rule_result_t<Solve, LinearMap<B>, B>, B> && ...);
  static constexpr bool fit = maps && solves;
  struct Refused {
    static_assert(called, "custom_linear_solve calls its map as map(x): it must take the type of b");
    static_assert(!called || maps, "the map of custom_linear_solve must return the type of b");
    static_assert(solved,
                  "custom_linear_solve calls its solvers as solve(map, b): they must take any callable "
                  "(`const auto& map`) and the type of b");
    static_assert(!solved || solves, "the solvers of custom_linear_solve must return the type of b");
  };
};
template <class F, class X, class Solve, class TangentSolve>
struct RootFit {
  static constexpr bool called = is_callable_with<F, X>;
  static constexpr bool maps = std::is_convertible_v<rule_result_t<F, X>, X>;
  static constexpr bool solved = is_callable_with<Solve, F, X>;
  static constexpr bool solves = is_root_result<rule_result_t<Solve, F, X>, X>;
  static constexpr bool tangent_solved = is_callable_with<TangentSolve, LinearMap<X>, X>;
  static constexpr bool tangent_solves =
      std::is_convertible_v<rule_result_t<TangentSolve, LinearMap<X>, X>, X>;
  static constexpr bool fit = maps && solves && tangent_solves;
  struct Refused {
    static_assert(called, "custom_root calls its function as f(x): it must take the type of the start");
    static_assert(!called || maps, "the function of custom_root must return the type of its start");
    static_assert(solved,
                  "custom_root calls its solver as solve(f, start): it must take the function "
                  "(`const auto& f`) and the type of the start");
    static_assert(!solved || solves,
                  "the solver of custom_root must return the type of its start, or a pair of that and more");
    static_assert(
        tangent_solved,
        "custom_root calls its tangent solver as tangent_solve(slope, y): it must take any callable "
        "(`const auto& slope`) and the type of the start");
    static_assert(!tangent_solved || tangent_solves,
                  "the tangent solver of custom_root must return the type of the start");
  };
};

}  // namespace detail

/// The x with map(x) = b for a linear `map`, found by `solve(map, b)`, differentiable both ways with respect
/// to b and to what `map` captures: its derivatives solve with the same map, or its transpose, again. x is
/// like b, any tree of floating arrays. For reverse mode give `transpose_solve` (used as
/// transpose_solve(transposed map, b)), or say that the map is symmetric; otherwise it throws. Solvers must
/// take any callable as map. (JAX: lax.custom_linear_solve)
template <class Map, class B, class Solve>
requires detail::LinearSolveFit<Map, B, Solve>::fit B
custom_linear_solve(const Map& map, const B& b, const Solve& solve, const LinearSolveOptions& options = {},
                    Loc loc = Loc::here()) {
  using namespace detail;
  auto flat_map = [&](const B& x) { return B(map(x)); };
  FlatFunction<decltype(flat_map), B> flat(flat_map, b);
  SolverOf<B, Solve> solver{solve, b};
  return with_leaves(
      b, custom_linear_solve_call(callee_of(flat), flat.leaves(), solver, {}, options.symmetric, loc));
}
template <class Map, class B, class Solve, class TransposeSolve>
requires(!std::is_same_v<TransposeSolve, LinearSolveOptions> &&
         detail::LinearSolveFit<Map, B, Solve, TransposeSolve>::fit) B
    custom_linear_solve(const Map& map, const B& b, const Solve& solve, const TransposeSolve& transpose_solve,
                        Loc loc = Loc::here()) {
  using namespace detail;
  auto flat_map = [&](const B& x) { return B(map(x)); };
  FlatFunction<decltype(flat_map), B> flat(flat_map, b);
  SolverOf<B, Solve> solver{solve, b};
  SolverOf<B, TransposeSolve> adjoint{transpose_solve, b};
  return with_leaves(b,
                     custom_linear_solve_call(callee_of(flat), flat.leaves(), solver, adjoint, false, loc));
}

/// Refuses what cannot be called so.
template <class Map, class B, class Solve>
requires(!detail::LinearSolveFit<Map, B, Solve>::fit) B
    custom_linear_solve(const Map&, const B& b, const Solve&, const LinearSolveOptions& = {}) {
  (void)sizeof(typename detail::LinearSolveFit<Map, B, Solve>::Refused);
  return b;
}
template <class Map, class B, class Solve, class TransposeSolve>
requires(!std::is_same_v<TransposeSolve, LinearSolveOptions> &&
         !detail::LinearSolveFit<Map, B, Solve, TransposeSolve>::fit) B
    custom_linear_solve(const Map&, const B& b, const Solve&, const TransposeSolve&) {
  (void)sizeof(typename detail::LinearSolveFit<Map, B, Solve, TransposeSolve>::Refused);
  return b;
}

/// A root x of `f`, which maps x to something like x, found by `solve(f, start)`: any method, which need not
/// be differentiable. The derivative with respect to what `f` captures is that of the implicit function
/// theorem, dx = -(∂f/∂x)⁻¹ df: `tangent_solve(slope, y)` solves slope(x) = y for the linear map slope =
/// ∂f/∂x (or its transpose, in reverse mode). The derivative with respect to `start` is zero. Where `solve`
/// returns a pair of root and anything, so does custom_root; the second part has no derivative. (JAX:
/// lax.custom_root)
template <class F, class X, class Solve, class TangentSolve>
requires detail::RootFit<F, X, Solve, TangentSolve>::fit auto custom_root(const F& f, const X& start,
                                                                          const Solve& solve,
                                                                          const TangentSolve& tangent_solve,
                                                                          Loc loc = Loc::here()) {
  using namespace detail;
  auto flat_f = [&](const X& x) { return X(f(x)); };
  auto flat_solve = [&](const X& x) { return solve(f, x); };
  FlatFunction<decltype(flat_f), X> function(flat_f, start);
  FlatFunction<decltype(flat_solve), X> solver(flat_solve, start);
  SolverOf<X, TangentSolve> tangent{tangent_solve, start};
  return solver.rebuild(
      custom_root_call(callee_of(function), function.leaves(), callee_of(solver), tangent, loc));
}

/// Refuses what cannot be called so.
template <class F, class X, class Solve, class TangentSolve>
requires(!detail::RootFit<F, X, Solve, TangentSolve>::fit) X
    custom_root(const F&, const X& start, const Solve&, const TangentSolve&) {
  (void)sizeof(typename detail::RootFit<F, X, Solve, TangentSolve>::Refused);
  return start;
}

}  // namespace apsis
