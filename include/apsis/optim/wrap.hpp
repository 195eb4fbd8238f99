#pragma once

// Transformations around others.

#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/optim/chain.hpp"
#include "apsis/optim/update.hpp"
#include "apsis/tree/filter.hpp"

namespace apsis::optim {

namespace detail {
/// Leaf by leaf `where(condition, a, b)`, with b's dtype.
void choose(const Array& condition, std::vector<Array>& a, const std::vector<Array>& b);
template <class T>
T choose_tree(const Array& condition, const T& a, const T& b, Loc loc) {
  std::vector<Array> leaves = tree_leaves(a);
  choose(condition, leaves, tree_leaves(b));
  return unflatten_like(a, leaves, loc);
}
Array zeros_if_floating(const Array& x);
Array accumulated(const Array& g, const Array& sum, const Array& count, bool mean);
Array all_finite(const std::vector<Array>& leaves);
[[noreturn]] void fail_option(const char* rule, const char* name, const std::string& value, const char* range,
                              Loc loc);
}  // namespace detail

/// Options of `multi_steps`.
struct MultiStepsOptions {
  std::int64_t every_k = 1;   ///< 1 or more
  bool use_grad_mean = true;  ///< the mean of the gradients; else their sum
};
/// What `MultiSteps` keeps between updates.
template <class P, class S>
struct MultiStepsState {
  Array mini_step;      ///< i64: gradients since the last step
  Array gradient_step;  ///< i64: steps so far
  S inner;
  P gradients;  ///< their mean or sum
};
/// What `multi_steps` makes.
template <class T>
struct MultiSteps {
  T inner;
  MultiStepsOptions options;

  template <class P>
  using State = MultiStepsState<P, state_t<T, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    if (options.every_k < 1)
      detail::fail_option("multi_steps", "every_k", std::to_string(options.every_k), "1 or more", loc);
    const Array none = array(std::int64_t{0});
    return {none, none, detail::init(inner, params, loc), tree_map(detail::zeros_if_floating, params)};
  }
  template <class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const Extra& extra = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const P sum = tree_map(
        [&](const Array& g, const Array& a) {
          return detail::accumulated(g, a, state.mini_step, options.use_grad_mean);
        },
        gradient, state.gradients, loc);
    auto [change, next] = detail::update(inner, sum, state.inner, params, extra, loc);
    const Array last = state.mini_step == options.every_k - 1;
    auto zero = [](const Array& x) { return zeros_like(x); };
    return {detail::choose_tree(last, change, tree_map(zero, change), loc),
            {(state.mini_step + 1) % options.every_k, state.gradient_step + last,
             detail::choose_tree(last, next, state.inner, loc),
             detail::choose_tree(last, tree_map(zero, state.gradients), combine(sum, state.gradients), loc)}};
  }
};
/// Collects the gradients of `every_k` updates for one step of `inner`; the changes before it are zeros.
template <class T>
MultiSteps<T> multi_steps(T inner, const MultiStepsOptions& options) {
  return {std::move(inner), options};
}

/// What `ApplyIfFinite` keeps between updates.
template <class S>
struct ApplyIfFiniteState {
  Array notfinite_count;  ///< i64: gradients one after the other that were not finite
  Array last_finite;      ///< whether the last was
  Array total_notfinite;  ///< i64
  S inner;
};
/// What `apply_if_finite` makes.
template <class T>
struct ApplyIfFinite {
  T inner;
  std::int64_t max_consecutive_errors = 0;

  template <class P>
  ApplyIfFiniteState<state_t<T, P>> init(const P& params, Loc loc = Loc::here()) const {
    const Array none = array(std::int64_t{0});
    return {none, array(true), none, detail::init(inner, params, loc)};
  }
  template <class P>
  std::pair<P, ApplyIfFiniteState<state_t<T, P>>> update(const P& gradient,
                                                         const ApplyIfFiniteState<state_t<T, P>>& state,
                                                         const P& params, const Extra& extra = {},
                                                         Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const Array finite = detail::all_finite(tree_leaves(gradient));
    const Array count = where(finite, 0, state.notfinite_count + 1);
    const Array applied = finite || count > max_consecutive_errors;
    auto [change, next] = detail::update(inner, gradient, state.inner, params, extra, loc);
    const P none = tree_map([](const Array& x) { return zeros_like(x); }, change);
    return {detail::choose_tree(applied, change, none, loc),
            {count, finite, state.total_notfinite + !finite,
             detail::choose_tree(applied, next, state.inner, loc)}};
  }
};
/// Leaves out updates whose gradient is not finite: the change is 0, and the state of `inner` stays. After
/// `max_consecutive_errors` of them one after the other they are let through.
template <class T>
ApplyIfFinite<T> apply_if_finite(T inner, std::int64_t max_consecutive_errors) {
  return {std::move(inner), max_consecutive_errors};
}

/// Options of `lookahead`.
struct LookaheadOptions {
  std::int64_t sync_period = 6;  ///< 1 or more
  Array slow_step_size = 0.5;
  bool reset_state = false;  ///< `inner` begins anew with each synchronisation
};
/// What `Lookahead` keeps between updates.
template <class P, class S>
struct LookaheadState {
  Array steps_since_sync;  ///< i64
  S inner;
  P slow;  ///< the slow parameters
};
/// What `lookahead` makes.
template <class T>
struct Lookahead {
  T inner;
  LookaheadOptions options;

  template <class P>
  using State = LookaheadState<P, state_t<T, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    if (options.sync_period < 1)
      detail::fail_option("lookahead", "sync_period", std::to_string(options.sync_period), "1 or more", loc);
    return {array(std::int64_t{0}), detail::init(inner, params, loc), params};
  }
  template <class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const Extra& extra = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    auto [change, next] = detail::update(inner, gradient, state.inner, params, extra, loc);
    const Array sync = state.steps_since_sync == options.sync_period - 1;
    const P slow = incremental_update(apply_updates(params, change), state.slow, options.slow_step_size, loc);
    const P to_slow =
        tree_map([](const Array& u, const Array& s, const Array& p) { return astype(s - p, u.dtype()); },
                 change, slow, params, loc);
    if (options.reset_state) next = detail::choose_tree(sync, detail::init(inner, params, loc), next, loc);
    return {detail::choose_tree(sync, to_slow, change, loc),
            {(state.steps_since_sync + 1) % options.sync_period, std::move(next),
             detail::choose_tree(sync, slow, state.slow, loc)}};
  }
};
/// Steps of `inner`, and every `sync_period` of them back to slow parameters, which have moved
/// `slow_step_size` of the way to the fast ones (Zhang et al., Lookahead optimizer, NeurIPS 2019). The slow
/// parameters are in the state.
template <class T>
Lookahead<T> lookahead(T inner, const LookaheadOptions& options = {}) {
  return {std::move(inner), options};
}

/// The options of a transformation in its state.
template <class T, class S>
struct InjectState {
  T hyperparams;
  S inner;
};
/// What `inject_hyperparams` makes.
template <class T>
struct InjectHyperparams {
  T inner;

  template <class P>
  InjectState<T, state_t<T, P>> init(const P& params, Loc loc = Loc::here()) const {
    return {inner, detail::init(inner, params, loc)};
  }
  template <class P>
  std::pair<P, InjectState<T, state_t<T, P>>> update(const P& gradient,
                                                     const InjectState<T, state_t<T, P>>& state,
                                                     const P& params, const Extra& extra = {},
                                                     Loc loc = Loc::here()) const {
    auto [change, next] = detail::update(state.hyperparams, gradient, state.inner, params, extra, loc);
    return {std::move(change), {state.hyperparams, std::move(next)}};
  }
};
/// Keeps the options of `inner` in the state, where they may be read and changed between updates, without a
/// new trace: `state.hyperparams.learning_rate = 1e-4`.
template <class T>
InjectHyperparams<T> inject_hyperparams(T inner) {
  return {std::move(inner)};
}

}  // namespace apsis::optim
