#pragma once

// Transformations one after the other.
//
//   auto optimizer = optim::chain(optim::ClipByGlobalNorm{1.0}, optim::AdamW{.learning_rate = 1e-3});
//   auto state = optimizer.init(model);                                  // a tuple of their states
//   auto [change, next] = optimizer.update(gradient, state, model);
//   model = optim::apply_updates(model, change);
//
//   auto named = optim::named_chain(optim::named<"clip">(optim::Clip{1.}),
//   optim::named<"adam">(optim::Adam{})); auto moments = named.init(model).get<"adam">().mu;

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

/// A name that is known to the compiler, for `named`.
template <std::size_t N>
struct Name {
  char text[N] = {};
  constexpr Name(const char (&name)[N]) {
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
  template <std::size_t M>
  constexpr bool operator==(const Name<M>& other) const {
    if constexpr (M != N)
      return false;
    else {
      for (std::size_t i = 0; i < N; ++i)
        if (text[i] != other.text[i]) return false;
      return true;
    }
  }
};
/// A transformation with a name.
template <Name name, class T>
struct Named {
  T transformation;
};
/// A transformation with a name, for `named_chain`.
template <Name name, class T>
Named<name, T> named(T transformation) {
  return {std::move(transformation)};
}

namespace detail {
/// Which of the names is `wanted`.
template <Name wanted, Name... names>
constexpr std::size_t place_of_name() {
  constexpr bool is[] = {wanted == names...};
  for (std::size_t i = 0; i < sizeof...(names); ++i)
    if (is[i]) return i;
  return sizeof...(names);
}
template <Name... names>
constexpr bool are_different() {
  std::size_t i = 0;
  return ((place_of_name<names, names...>() == i++) && ...);
}
}  // namespace detail

/// The parts of a chain, or their states, by name.
template <class Tuple, Name... names>
struct NamedParts {
  Tuple parts;
  template <Name name>
  auto& get() {
    static_assert(detail::place_of_name<name, names...>() < sizeof...(names), "the chain has no such name");
    return std::get<detail::place_of_name<name, names...>()>(parts);
  }
  template <Name name>
  const auto& get() const {
    return const_cast<NamedParts*>(this)->template get<name>();
  }
};
/// What `named_chain` makes.
template <class Tuple, Name... names>
struct NamedChain;
template <class... T, Name... names>
struct NamedChain<std::tuple<T...>, names...> {
  NamedParts<std::tuple<T...>, names...> transformations;

  template <class P>
  using State = NamedParts<std::tuple<state_t<T, P>...>, names...>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    return {Chain<T...>{transformations.parts}.init(params, loc)};
  }
  template <class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const Extra& extra = {}, Loc loc = Loc::here()) const {
    auto [change, next] =
        Chain<T...>{transformations.parts}.update(gradient, state.parts, params, extra, loc);
    return {std::move(change), {std::move(next)}};
  }
};
/// As `chain`, of transformations with names, which are those of their states, too.
template <Name... names, class... T>
NamedChain<std::tuple<T...>, names...> named_chain(Named<names, T>... transformations) {
  static_assert(detail::are_different<names...>(), "each transformation of a chain needs a name of its own");
  return {{{std::move(transformations.transformation)...}}};
}

}  // namespace apsis::optim
