#pragma once

// Minimisation.
//
//   auto found = minimize(loss, start);          // BFGS
//   found.parameters; found.value; found.steps;

#include "apsis/transform/grad.hpp"

namespace apsis {

/// Options of `minimize`.
struct MinimizeOptions {
  /// Stop when no entry of the gradient is larger than this; 0 or more.
  double gradient_tolerance = 1e-8;
  std::int64_t max_steps = 500;  ///< 0 or more
};

/// How a minimisation ended.
enum class MinimizeResult : std::int64_t {
  Converged = 0,
  MaxStepsReached = 1,
  LineSearchFailed = 2,
  NonFinite = 3
};

/// What `minimize` returns.
template <class P>
struct Minimum {
  P parameters;
  Array value, gradient_norm;  ///< the largest entry of the gradient
  Array steps;                 ///< i64
  Array result;                ///< i64: a MinimizeResult
};

namespace detail {
struct FlatMinimum {
  std::vector<Array> parameters;
  Array value, gradient_norm, steps, result;
};
FlatMinimum minimize_flat(const Callee& loss, std::span<const Array> start, const MinimizeOptions& options,
                          Loc loc);
}  // namespace detail

/// A local minimum of a real scalar function of a tree of floating arrays, by BFGS with a backtracking line
/// search (Nocedal and Wright, Numerical Optimization, 2006, chapters 3 and 6). Points where the function is
/// not finite are stepped back from. Itself a program: compile it with jit, run it from many starts with
/// vmap. Throws where `f` is not a real scalar, a parameter is not floating, or an option is out of range.
template <class F, class P>
Minimum<P> minimize(const F& f, const P& start, const MinimizeOptions& options = {}, Loc loc = Loc::here()) {
  auto loss = [&f](const P& p) { return Array(f(p)); };
  detail::FlatFunction<decltype(loss), P> flat(loss, start);
  flat.name_arguments({"start"});
  detail::FlatMinimum m = detail::minimize_flat(detail::callee_of(flat), flat.leaves(), options, loc);
  return {detail::with_leaves(start, m.parameters), m.value, m.gradient_norm, m.steps, m.result};
}

}  // namespace apsis
