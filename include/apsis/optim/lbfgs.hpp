#pragma once

// Quasi-Newton directions, and steps of a length that is searched for. Those need the loss itself:
//
//   auto optimizer = optim::lbfgs();
//   auto state = optimizer.init(params);
//   auto step = jit([&](const Params& p, const optim::state_t<decltype(optimizer), Params>& s) {
//     auto [value, gradient] = optimizer.value_and_grad(loss, s, p);      // those that the search has found
//     auto [change, next] = optimizer.update(gradient, s, p, value, loss);
//     return std::tuple{apply_updates(p, change), next, value};
//   });

#include <limits>

#include "apsis/control/cond.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/optim/chain.hpp"
#include "apsis/optim/scale.hpp"
#include "apsis/transform/grad.hpp"

namespace apsis::optim {

/// What `ScaleByLbfgs` keeps between updates.
template <class P>
struct LbfgsState {
  Array count;           ///< i64: updates so far
  Array weights_memory;  ///< [memory_size]: 1 / (difference of gradients · that of parameters)
  P params, gradient;    ///< of the update before
  P diff_params_memory, diff_updates_memory;  ///< [memory_size, …] each
};
/// The gradient times the inverse Hessian that the last memory_size steps imply (Liu and Nocedal, On the
/// limited memory BFGS method for large scale optimization, 1989; Nocedal and Wright, algorithm 7.4), with
/// the gradient's sign.
struct ScaleByLbfgs {
  std::int64_t memory_size = 10;   ///< 1 or more
  bool scale_init_precond = true;  ///< begin with the curvature of the last step, not with 1
  APSIS_TRANSFORMATION(LbfgsState<P>, {}, {}, params, params, params, params)
};

/// Steps that become shorter until the loss falls enough (Armijo's rule; Nocedal and Wright, Numerical
/// Optimization, 2006, algorithm 3.1).
struct BacktrackingLineSearch {
  std::int64_t max_backtracking_steps = 30;  ///< 0 or more
  Array slope_rtol = 1e-4;                   ///< the part of the slope that the loss must fall by
  Array decrease_factor = 0.8;               ///< of each step; above 0, less than 1
  Array increase_factor = 1.5;               ///< of the first step from one search to the next
  Array max_learning_rate = 1.;              ///< above 0
  Array atol = 0., rtol = 0.;                ///< what the loss may rise by
};
/// Where a zoom search begins: at 1, or where the one before ended.
enum class InitialGuess : std::uint8_t { One, Keep };
/// Steps that become longer, and then come between bounds, until loss and slope fall enough (strong Wolfe
/// conditions; Nocedal and Wright, algorithms 3.5 and 3.6).
struct ZoomLineSearch {
  std::int64_t max_linesearch_steps = 20;  ///< 1 or more
  Array max_learning_rate = {};            ///< empty: none
  Array tol = 0.;                          ///< what conditions may be missed by
  Array increase_factor = 2.;
  Array slope_rtol = 1e-4, curv_rtol = 0.9;
  Array approx_dec_rtol =
      1e-6;  ///< Hager and Zhang's approximate condition, for losses near rounding; empty: none
  Array stepsize_precision = 1e-5;
  InitialGuess initial_guess = InitialGuess::One;
};

/// What a line search keeps between updates.
template <class P, class S>
struct LineSearchState {
  S inner;
  Array learning_rate;                    ///< the last step, in units of the direction
  Array value;                            ///< the loss where it ended
  P gradient;                             ///< and its gradient, where it is known
  Array steps;                            ///< i64: evaluations of the last search
  Array decrease_error, curvature_error;  ///< by how much the conditions are missed
};

namespace detail {
/// Where a search is made: all leaves of the parameters that are there, and of direction and gradient those
/// that there is a gradient of.
struct Line {
  std::vector<Array> params, direction, gradient;
  std::vector<bool> moved;  // for each leaf of params
  Array value, previous_length;
  Loc loc;
};
struct Found {
  Array length, value;
  std::vector<Array> gradient;
  Array steps, decrease_error, curvature_error;
};
Found search(const BacktrackingLineSearch& options, const apsis::detail::Callee& loss, const Line& line);
Found search(const ZoomLineSearch& options, const apsis::detail::Callee& loss, const Line& line);
void check(const BacktrackingLineSearch& options, Loc loc);
void check(const ZoomLineSearch& options, Loc loc);
Array scalar_like(const std::vector<Array>& params, double value);
std::vector<Array> scaled(std::vector<Array> direction, const Array& length);
Line line_of(std::vector<Array> params, std::vector<Array> direction, std::vector<Array> gradient,
             const Array& value, const Array& previous_length, Loc loc);
}  // namespace detail

/// What `line_search` makes.
template <class T, class Search>
struct LineSearched {
  T inner;
  Search search;

  template <class P>
  using State = LineSearchState<P, state_t<T, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    detail::check(search, loc);
    const std::vector<Array> leaves = tree_leaves(params);
    const Array infinite = detail::scalar_like(leaves, std::numeric_limits<double>::infinity());
    P gradient = tree_map(
        [](const Array& p) { return detail::Start::is_trained(p) ? zeros_like(p) : Array(); }, params);
    return {detail::init(inner, params, loc),
            detail::scalar_like(leaves, 1),
            infinite,
            gradient,
            array(std::int64_t{0}),
            infinite,
            infinite};
  }
  /// Loss and gradient at `params`: those where the last search ended, or computed before the first. The
  /// state must be that of the same loss and parameters.
  template <class F, class P>
  std::pair<Array, P> value_and_grad(const F& value_fn, const State<P>& state, const P& params,
                                     Loc loc = Loc::here()) const {
    const LocScope place(loc);
    auto compute = [&](const P& p) {
      auto [value, gradient] = apsis::value_and_grad(value_fn)(p);
      return std::pair{astype(value, state.value.dtype()), gradient};
    };
    if constexpr (!keeps_gradient)
      return compute(params);
    else
      return cond(
          isfinite(state.value),
          [&](const P&) {
            return std::pair{state.value, state.gradient};
          },
          compute, params);
  }
  /// `value` and `gradient` are those of `value_fn` at `params`.
  template <class F, class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params, const Array& value,
                                const F& value_fn, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    auto [direction, next] = detail::update(inner, gradient, state.inner, params, {.value = value}, loc);
    auto loss = [&value_fn](const P& p) { return Array(value_fn(p)); };
    apsis::detail::FlatFunction<decltype(loss), P> flat(loss, params);
    flat.name_arguments({"params"});
    const detail::Found found =
        detail::search(search, apsis::detail::callee_of(flat),
                       detail::line_of(tree_leaves(params), tree_leaves(direction), tree_leaves(gradient),
                                       value, state.learning_rate, loc));
    return {unflatten_like(direction, detail::scaled(tree_leaves(direction), found.length), loc),
            {std::move(next), found.length, found.value, with_gradient(state.gradient, found.gradient),
             found.steps, found.decrease_error, found.curvature_error}};
  }

 private:
  static constexpr bool keeps_gradient = std::is_same_v<Search, ZoomLineSearch>;
  template <class P>
  static P with_gradient(P tree, const std::vector<Array>& leaves) {
    auto next = leaves.begin();
    for_each_leaf(tree, [&](Array& leaf) {
      if (!leaf.is_empty() && next != leaves.end()) leaf = astype(*next++, leaf.dtype());
    });
    return tree;
  }
};
/// Steps in the direction that `inner` gives (a descent: its sign is turned), of a length that is searched
/// for.
template <class T, class Search = ZoomLineSearch>
LineSearched<T, Search> line_search(T inner, Search search = {}) {
  return {std::move(inner), std::move(search)};
}
/// L-BFGS with a zoom line search, or another.
template <class Search = ZoomLineSearch>
LineSearched<Chain<ScaleByLbfgs, Scale>, Search> lbfgs(const ScaleByLbfgs& options = {}, Search search = {}) {
  return {chain(options, Scale{-1.}), std::move(search)};
}

}  // namespace apsis::optim
