#pragma once

// Transformations around others.

#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/optim/chain.hpp"
#include "apsis/optim/schedule.hpp"
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
/// Throws if a number of steps whose value is known is less than 1.
void check_count(const char* rule, const char* name, const Array& value, Loc loc);
[[noreturn]] void fail_option(const char* rule, const char* name, const std::string& value, const char* range,
                              Loc loc);
}  // namespace detail

/// Options of `multi_steps`.
struct MultiStepsOptions {
  ScalarOrSchedule every_k = 1;  ///< 1 or more; a schedule counts steps, not gradients
  bool use_grad_mean = true;     ///< the mean of the gradients; else their sum
};
/// What `MultiSteps` keeps between updates.
template <class P, class S>
struct MultiStepsState {
  Array mini_step;      ///< i64: gradients since the last step
  Array gradient_step;  ///< i64: steps so far
  S inner;
  P gradients;  ///< their mean or sum
};
/// No gradient is left out.
struct SkipNone {};
/// Gradients with elements that are not finite are left out.
struct SkipNotFinite {
  template <class P>
  Array operator()(const P& gradient) const {
    return !detail::all_finite(tree_leaves(gradient));
  }
};
/// Gradients whose squared length is max_squared_norm or more, or not a number, are left out.
struct SkipLargeUpdates {
  Array max_squared_norm;
  template <class P>
  Array operator()(const P& gradient) const {
    return !(square(detail::norm_of(tree_leaves(gradient))) < max_squared_norm);
  }
};
/// What `multi_steps` makes.
template <class T, class Skip>
struct MultiSteps {
  T inner;
  MultiStepsOptions options;
  Skip skip;

  template <class P>
  using State = MultiStepsState<P, state_t<T, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const Array none = array(std::int64_t{0});
    detail::check_count("multi_steps", "every_k", options.every_k(none), loc);
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
    const Array every = astype(options.every_k(state.gradient_step), i64);
    const Array last = state.mini_step == every - 1;
    auto zero = [](const Array& x) { return zeros_like(x); };
    std::pair<P, State<P>> result{
        detail::choose_tree(last, change, tree_map(zero, change), loc),
        {(state.mini_step + 1) % every, state.gradient_step + last,
         detail::choose_tree(last, next, state.inner, loc),
         detail::choose_tree(last, tree_map(zero, state.gradients), combine(sum, state.gradients), loc)}};
    if constexpr (!std::is_same_v<Skip, SkipNone>) {
      const Array skipped = skip(gradient);
      result.first = detail::choose_tree(skipped, tree_map(zero, change), result.first, loc);
      result.second = detail::choose_tree(skipped, state, result.second, loc);
    }
    return result;
  }
};
/// Collects the gradients of `every_k` updates for one step of `inner`; the changes before it are zeros.
/// Gradients for which `skip(gradient)`, a scalar bool, is true do not count.
template <class T, class Skip = SkipNone>
MultiSteps<T, Skip> multi_steps(T inner, const MultiStepsOptions& options, Skip skip = {}) {
  return {std::move(inner), options, std::move(skip)};
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

/// What `ConditionallyTransform` and `ConditionallyMask` keep between updates.
template <class S>
struct ConditionalState {
  Array step;  ///< i64: updates so far
  S inner;
};
/// What `conditionally_transform` and `conditionally_mask` make.
template <class T, class F>
struct ConditionalTransform {
  T inner;
  F condition;
  bool zero = false;  ///< what happens where the condition is not so: zeros, or the gradient as it is

  template <class P>
  ConditionalState<state_t<T, P>> init(const P& params, Loc loc = Loc::here()) const {
    return {array(std::int64_t{0}), detail::init(inner, params, loc)};
  }
  template <class P>
  std::pair<P, ConditionalState<state_t<T, P>>> update(const P& gradient,
                                                       const ConditionalState<state_t<T, P>>& state,
                                                       const P& params, const Extra& extra = {},
                                                       Loc loc = Loc::here()) const {
    const LocScope place(loc);
    Array applied;
    if constexpr (requires { Array(condition(state.step, extra)); })
      applied = condition(state.step, extra);
    else
      applied = condition(state.step);
    auto [change, next] = detail::update(inner, gradient, state.inner, params, extra, loc);
    const P rest = zero ? tree_map([](const Array& x) { return zeros_like(x); }, gradient) : gradient;
    return {detail::choose_tree(applied, change, rest, loc),
            {state.step + 1, detail::choose_tree(applied, next, state.inner, loc)}};
  }
};
/// `inner` where `condition(step)`, or `condition(step, extra)`, a scalar bool, is true; else the gradient
/// and the state of `inner` stay as they are. `step` counts updates, from 0.
template <class T, class F>
ConditionalTransform<T, F> conditionally_transform(T inner, F condition) {
  return {std::move(inner), std::move(condition), false};
}
/// As `conditionally_transform`, with zeros where the condition is not so.
template <class T, class F>
ConditionalTransform<T, F> conditionally_mask(T inner, F condition) {
  return {std::move(inner), std::move(condition), true};
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
