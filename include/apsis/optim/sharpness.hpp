#pragma once

#include "apsis/optim/wrap.hpp"

namespace apsis::optim {

/// Options of `sam`.
struct SamOptions {
  std::int64_t sync_period = 2;  ///< 1 or more: one step of the optimiser for so many gradients
  bool reset_state = true;       ///< the adversary begins anew with each step
};
/// What `Sam` keeps between updates.
template <class P, class S, class A>
struct SamState {
  Array steps_since_sync;  ///< i64
  S optimizer;
  A adversary;
  P params;  ///< where the last step of the optimiser led; empty for `sam_opaque`
};
namespace detail {
template <class P>
P negative(const P& tree) {
  return tree_map([](const Array& x) { return -x; }, tree);
}
}  // namespace detail

/// What `sam` makes.
template <class T, class A>
struct Sam {
  T optimizer;
  A adversary;
  SamOptions options;

  template <class P>
  using State = SamState<P, state_t<T, P>, state_t<A, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    detail::check_count("sam", "sync_period", options.sync_period, loc);
    return {array(std::int64_t{0}), detail::init(optimizer, params, loc),
            detail::init(adversary, params, loc), params};
  }
  template <class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const Extra& extra = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const Array first = state.steps_since_sync == 0, last = state.steps_since_sync == options.sync_period - 1;
    const P anchor = detail::choose_tree(first, params, state.params, loc);
    auto [climb, adversary_next] = detail::update(adversary, gradient, state.adversary, params, extra, loc);
    auto [step, next] = detail::update(optimizer, gradient, state.optimizer, anchor, extra, loc);
    const P back =
        tree_map([](const Array& u, const Array& a, const Array& p) { return astype(a - p + u, u.dtype()); },
                 step, anchor, params, loc);
    const auto adversary_first = options.reset_state ? detail::init(adversary, params, loc) : state.adversary;
    return {detail::choose_tree(last, back, detail::negative(climb), loc),
            {(state.steps_since_sync + 1) % options.sync_period,
             detail::choose_tree(last, next, state.optimizer, loc),
             detail::choose_tree(last, adversary_first, adversary_next, loc), anchor}};
  }
};
/// Sharpness-aware minimisation: steps of `adversary` uphill, then one of `optimizer` from where they began,
/// along the gradient at their end (Foret et al., Sharpness-aware minimization for efficiently improving
/// generalization, ICLR 2021). Each call of `update` is one of them; the paper's adversary is
/// `chain(NormalizeByUpdateNorm{.eps = 0.}, Sgd{.learning_rate = rho})`.
template <class T, class A>
Sam<T, A> sam(T optimizer, A adversary, const SamOptions& options = {}) {
  return {std::move(optimizer), std::move(adversary), options};
}

/// What `sam_opaque` makes.
template <class T, class A>
struct SamOpaque {
  T optimizer;
  A adversary;
  SamOptions options;

  template <class P>
  using State = SamState<std::tuple<>, state_t<T, P>, state_t<A, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    detail::check_count("sam", "sync_period", options.sync_period, loc);
    return {array(std::int64_t{0}),
            detail::init(optimizer, params, loc),
            detail::init(adversary, params, loc),
            {}};
  }
  /// `gradient_at(params, k)` is the gradient after the adversary's step k, from 0.
  template <class P, class F>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const F& gradient_at, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    P worst = params, g = gradient;
    state_t<A, P> adversary_now = state.adversary;
    for (std::int64_t k = 0; k < options.sync_period - 1; ++k) {
      auto [climb, next] = detail::update(adversary, g, adversary_now, worst, {}, loc);
      adversary_now = std::move(next);
      worst = apply_updates(worst, detail::negative(climb), loc);
      g = gradient_at(worst, k);
    }
    if (options.reset_state) adversary_now = detail::init(adversary, params, loc);
    auto [change, next] = detail::update(optimizer, g, state.optimizer, params, {}, loc);
    return {std::move(change), {state.steps_since_sync, std::move(next), std::move(adversary_now), {}}};
  }
};
/// As `sam`, with all steps of the adversary within one `update(gradient, state, params, gradient_at)`: for
/// training with other effects than those on the parameters, such as the statistics of `BatchNorm`.
template <class T, class A>
SamOpaque<T, A> sam_opaque(T optimizer, A adversary, const SamOptions& options = {}) {
  return {std::move(optimizer), std::move(adversary), options};
}

}  // namespace apsis::optim
