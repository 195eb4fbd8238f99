#pragma once

// Transformations one after the other.
//
//   auto optimizer = optim::chain(optim::ClipByGlobalNorm{1.0}, optim::AdamW{.learning_rate = 1e-3});
//   auto state = optimizer.init(model);                                  // a tuple of their states
//   auto [change, next] = optimizer.update(gradient, state, model);
//   model = optim::apply_updates(model, change);

#include <tuple>

#include "apsis/optim/rule.hpp"

namespace apsis::optim {

/// A gradient transformation of parameters of type P: `init(params)` gives its state, a tree, and
/// `update(gradient, state, params)` the transformed gradient and the next state.
template <class T, class P>
concept GradientTransformation = requires(const T& t, const P& p) {
  { t.update(p, t.init(p), p) } -> std::same_as<std::pair<P, std::decay_t<decltype(t.init(p))>>>;
};

/// The state of a transformation over parameters of type P.
template <class T, class P>
using state_t = std::decay_t<decltype(std::declval<const T&>().init(std::declval<const P&>()))>;

namespace detail {

/// Of transformations with and without `Extra` and a place.
template <class T, class P>
state_t<T, P> init(const T& t, const P& params, Loc loc) {
  if constexpr (requires { t.init(params, loc); })
    return t.init(params, loc);
  else
    return t.init(params);
}
template <class T, class P>
std::pair<P, state_t<T, P>> update(const T& t, const P& gradient, const state_t<T, P>& state, const P& params,
                                   const Extra& extra, Loc loc) {
  static_assert(
      GradientTransformation<T, P>,
      "a transformation needs init(params), which returns its state, and update(gradient, state, params), "
      "which returns a std::pair of the change, of the type of params, and the next state");
  if constexpr (requires { t.update(gradient, state, params, extra, loc); })
    return t.update(gradient, state, params, extra, loc);
  else
    return t.update(gradient, state, params);
}

}  // namespace detail

/// What `chain` makes. Its state is the tuple of theirs.
template <class... T>
struct Chain {
  std::tuple<T...> parts;

  template <class P>
  std::tuple<state_t<T, P>...> init(const P& params, Loc loc = Loc::here()) const {
    return std::apply([&](const T&... t) { return std::tuple(detail::init(t, params, loc)...); }, parts);
  }
  template <class P>
  std::pair<P, std::tuple<state_t<T, P>...>> update(const P& gradient,
                                                    const std::tuple<state_t<T, P>...>& state,
                                                    const P& params, const Extra& extra = {},
                                                    Loc loc = Loc::here()) const {
    std::pair<P, std::tuple<state_t<T, P>...>> result{gradient, state};
    auto apply = [&](const auto& t, auto& s) {
      auto [updates, next] = detail::update(t, result.first, s, params, extra, loc);
      result.first = std::move(updates);
      s = std::move(next);
    };
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (apply(std::get<i>(parts), std::get<i>(result.second)), ...);
    }
    (std::index_sequence_for<T...>{});
    return result;
  }
};
/// Each transforms what the one before it returned; all see the same parameters.
template <class... T>
Chain<T...> chain(T... transformations) {
  return {{std::move(transformations)...}};
}

}  // namespace apsis::optim
