#pragma once

// A solution as a picture.
//
//   solution_figure(sol).save("out/solution.png");
//   step_figure(sol).save("out/steps.png");           // of a solve with .saveat = {.dense = true}

#include "apsis/diffeq/solve.hpp"
#include "apsis/io/plot.hpp"
#include "apsis/tree/path.hpp"

namespace apsis {
namespace detail {
Figure figure_of_states(const Array& ts, const std::vector<std::string>& names, const std::vector<Array>& ys,
                        Loc loc);
Figure figure_of_steps(const Array& count, const Array& ts, const Array& direction, Loc loc);
}  // namespace detail

/// What a solve saved against time: a line for each element of the state, by its path, of each array up to
/// twelve; a state of one longer array, saved at even times, is a map. For one request of what to save. A
/// figure may be added to before it is saved. Throws for what is traced, and for many solves at once.
template <class Y, class Ys>
Figure solution_figure(const Solution<Y, Ys>& s, Loc loc = Loc::here()) {
  return detail::figure_of_states(s.ts, tree_paths(s.ys), tree_leaves(s.ys), loc);
}
/// How long the accepted steps were, against the times at which they began, on a logarithmic axis. Throws for
/// a solve without .saveat = {.dense = true}, which keeps the steps.
template <class Y, class Ys, class Ts>
Figure step_figure(const Solution<Y, Ys, Ts>& s, Loc loc = Loc::here()) {
  return detail::figure_of_steps(s.dense.count, s.dense.ts, s.dense.direction, loc);
}

}  // namespace apsis
