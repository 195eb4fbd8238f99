#pragma once

// The solution between the steps: a path that may be looked at, and drive another equation.
//
//   auto sol = diffeqsolve(ODETerm{f}, Tsit5{}, 0., 1., {}, y0, {.controller = …, .saveat = {.dense =
//   true}}); auto path = dense_interpolation(Tsit5{}, sol); path.evaluate(0.3);  path.derivative(0.3);

#include "apsis/diffeq/interpolation.hpp"
#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/transform/jvp.hpp"

namespace apsis {

namespace detail {
std::vector<Array> dense_value(const SolverRef& solver, const DenseSteps<std::vector<Array>>& steps,
                               const Array& t, Side side, Loc loc);
/// The steps with the leaves that are there.
template <class Y>
DenseSteps<std::vector<Array>> flat_steps(const DenseSteps<Y>& s) {
  DenseSteps<std::vector<Array>> flat{s.count, s.direction, s.ts, s.lengths, {}, {}, {}, s.within};
  collect_leaves(s.start, flat.start);
  collect_leaves(s.y0, flat.y0);
  collect_leaves(s.y1, flat.y1);
  return flat;
}
void require_dense(const Array& count, Loc loc);
}  // namespace detail

/// The solution of an equation at every time from t0 to where the solve ended, by its solver's interpolation;
/// NaN outside. Differentiable in time and in all that the solve is.
template <class Y, class S>
struct DenseInterpolation {
  S solver;
  DenseSteps<Y> steps;

  /// The state at a time.
  Y evaluate(const Array& t, Side side = Side::Left, Loc loc = Loc::here()) const {
    return detail::with_leaves(steps.start, detail::dense_value(detail::solver_ref(solver),
                                                                detail::flat_steps(steps), t, side, loc));
  }
  /// The state at `to` less that at `from`.
  Y evaluate(const Array& from, const Array& to, Side side = Side::Left, Loc loc = Loc::here()) const {
    std::vector<Array> start, end;
    detail::collect_leaves(evaluate(from, side, loc), start);
    detail::collect_leaves(evaluate(to, side, loc), end);
    return detail::with_leaves(steps.start, detail::differences(end, start));
  }
  /// The derivative of the interpolation, which is not the vector field there, but near it.
  Y derivative(const Array& t, Side side = Side::Left, Loc loc = Loc::here()) const {
    const Array time = astype(t, steps.ts.dtype());
    return jvp([&](const Array& u) { return evaluate(u, side, loc); }, time, ones_like(time), loc).second;
  }
  /// The ends.
  Array t0() const { return steps.ts[0] * steps.direction; }
  Array t1() const { return steps.ts[steps.count] * steps.direction; }
};

/// The path of a solve by this solver, made with .saveat = {.dense = true}. Throws for another.
template <class S, class Y, class Ys, class Ts>
DenseInterpolation<Y, S> dense_interpolation(const S& solver, const Solution<Y, Ys, Ts>& solution,
                                             Loc loc = Loc::here()) {
  detail::require_dense(solution.dense.count, loc);
  return {solver, solution.dense};
}

}  // namespace apsis
