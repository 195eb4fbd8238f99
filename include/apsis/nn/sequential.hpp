#pragma once

// Layers one after the other.
//
//   auto model = nn::make_sequential(nn::make_linear({.in = 2, .out = 16}, a), nn::relu,
//                                    nn::Dropout{.p = 0.1}, nn::make_linear({.in = 16, .out = 1}, b));
//   Array y = model(x, key);                                  // layers that take a key get one each
//
// A layer is any function of an array that is a tree: an aggregate with a call operator, nn::relu, a lambda
// without captures. One that draws random numbers takes a key behind x, or behind x and its state. One with a
// state, which goes in and comes out, says so: `using State = …`, `init_state`.

#include <tuple>
#include <utility>
#include <vector>

#include "apsis/control/scan.hpp"
#include "apsis/ops/random.hpp"
#include "apsis/transform/vmap.hpp"

namespace apsis::nn {

namespace detail {

template <class Layer>
struct StateOf {
  using type = Nothing;
};
template <class Layer>
requires requires { typename Layer::State; }
struct StateOf<Layer> {
  using type = typename Layer::State;
};

/// As many keys as layers; empty ones of an empty one.
std::vector<Array> keys_of_layers(const Array& key, std::size_t count);

}  // namespace detail

/// The state of a layer: its `State`, or Nothing.
template <class Layer>
using state_t = typename detail::StateOf<Layer>::type;
/// Whether a layer is called as layer(x, state) and gives a result and the next state.
template <class Layer>
inline constexpr bool is_stateful = !std::is_same_v<state_t<Layer>, Nothing>;

/// The state that a layer begins with: what its init_state(key) gives, or Nothing.
template <class Layer>
state_t<Layer> init_state(const Layer& layer, const Array& key = {}) {
  if constexpr (is_stateful<Layer>)
    return layer.init_state(key);
  else
    return {};
}

namespace detail {

/// (x, state, key) → (y, next state) of any layer. Layers that can be called with a key behind what they take
/// get it; an empty one those alone that cannot be called without.
template <class Layer>
std::pair<Array, state_t<Layer>> call_layer(const Layer& layer, const Array& x, const state_t<Layer>& state,
                                            const Array& key) {
  if constexpr (is_stateful<Layer>) {
    if constexpr (!std::is_invocable_v<const Layer&, const Array&, const state_t<Layer>&>) {
      return layer(x, state, key);
    } else {
      if constexpr (std::is_invocable_v<const Layer&, const Array&, const state_t<Layer>&, const Array&>)
        if (!key.is_empty()) return layer(x, state, key);
      return layer(x, state);
    }
  } else if constexpr (!std::is_invocable_v<const Layer&, const Array&>) {
    return {layer(x, key), state};
  } else {
    if constexpr (std::is_invocable_v<const Layer&, const Array&, const Array&>)
      if (!key.is_empty()) return {layer(x, key), state};
    return {layer(x), state};
  }
}

}  // namespace detail

/// Each layer is called with what the one before gives. Made by `make_sequential` of layers of any types, or
/// of a std::vector of layers of one type.
template <class... Layers>
struct Sequential {
  std::tuple<Layers...> layers;

  /// A state for each layer, if one of them has one.
  using State = std::conditional_t<(is_stateful<Layers> || ...), std::tuple<state_t<Layers>...>, Nothing>;

  /// The states that the layers begin with; those that are random get a key each, split from this.
  State init_state(const Array& key = {}) const requires(!std::is_same_v<State, Nothing>) {
    const std::vector<Array> keys = detail::keys_of_layers(key, sizeof...(Layers));
    return each([&]<std::size_t... i>(std::index_sequence<i...>) {
      return State(nn::init_state(std::get<i>(layers), keys[i])...);
    });
  }

  /// Of layers without a state.
  Array operator()(const Array& x, Loc loc = Loc::here()) const requires std::is_same_v<State, Nothing> {
    return (*this)(x, Array(), loc);
  }
  /// Layers that take a key get one each, split from this.
  Array operator()(const Array& x, const Array& key,
                   Loc loc = Loc::here()) const requires std::is_same_v<State, Nothing> {
    return run(x, std::tuple<state_t<Layers>...>(), key, loc).first;
  }
  /// Of layers of which some have a state: the result, and the next states.
  std::pair<Array, State> operator()(const Array& x, const State& state, Loc loc = Loc::here()) const
      requires(!std::is_same_v<State, Nothing>) {
    return (*this)(x, state, Array(), loc);
  }
  /// The same with a key.
  std::pair<Array, State> operator()(const Array& x, const State& state, const Array& key,
                                     Loc loc = Loc::here()) const requires(!std::is_same_v<State, Nothing>) {
    return run(x, state, key, loc);
  }

 private:
  template <class F>
  static decltype(auto) each(const F& f) {
    return f(std::index_sequence_for<Layers...>());
  }
  std::pair<Array, std::tuple<state_t<Layers>...>> run(const Array& x, std::tuple<state_t<Layers>...> states,
                                                       const Array& key, Loc loc) const {
    const LocScope place(loc);
    const std::vector<Array> keys = detail::keys_of_layers(key, sizeof...(Layers));
    Array y = x;
    each([&]<std::size_t... i>(std::index_sequence<i...>) {
      ((std::tie(y, std::get<i>(states)) =
            detail::call_layer(std::get<i>(layers), y, std::get<i>(states), keys[i])),
       ...);
    });
    return {y, states};
  }
};

/// The same of layers of one type, as many as there are when the program runs.
template <class Layer>
struct Sequential<std::vector<Layer>> {
  std::vector<Layer> layers;

  /// A state for each layer.
  using State = std::conditional_t<is_stateful<Layer>, std::vector<state_t<Layer>>, Nothing>;

  State init_state(const Array& key = {}) const requires is_stateful<Layer> {
    const std::vector<Array> keys = detail::keys_of_layers(key, layers.size());
    State states;
    for (std::size_t i = 0; i < layers.size(); ++i) states.push_back(nn::init_state(layers[i], keys[i]));
    return states;
  }

  Array operator()(const Array& x, Loc loc = Loc::here()) const requires(!is_stateful<Layer>) {
    return (*this)(x, Array(), loc);
  }
  Array operator()(const Array& x, const Array& key, Loc loc = Loc::here()) const
      requires(!is_stateful<Layer>) {
    const LocScope place(loc);
    const std::vector<Array> keys = detail::keys_of_layers(key, layers.size());
    Array y = x;
    for (std::size_t i = 0; i < layers.size(); ++i)
      y = detail::call_layer(layers[i], y, Nothing{}, keys[i]).first;
    return y;
  }
  std::pair<Array, State> operator()(const Array& x, const State& state,
                                     Loc loc = Loc::here()) const requires is_stateful<Layer> {
    return (*this)(x, state, Array(), loc);
  }
  std::pair<Array, State> operator()(const Array& x, const State& state, const Array& key,
                                     Loc loc = Loc::here()) const requires is_stateful<Layer> {
    const LocScope place(loc);
    const std::vector<Array> keys = detail::keys_of_layers(key, layers.size());
    std::pair<Array, State> now{x, state};
    for (std::size_t i = 0; i < layers.size(); ++i)
      std::tie(now.first, now.second.at(i)) = detail::call_layer(layers[i], now.first, state.at(i), keys[i]);
    return now;
  }
};

namespace detail {
template <class Layer>
inline constexpr bool is_layer =
    std::is_invocable_v<const Layer&, const Array&> ||
    std::is_invocable_v<const Layer&, const Array&, const Array&> ||
    std::is_invocable_v<const Layer&, const Array&, const state_t<Layer>&> ||
    std::is_invocable_v<const Layer&, const Array&, const state_t<Layer>&, const Array&>;
}

/// A Sequential of these layers; functions become pointers to them.
template <class... Layers>
requires(detail::is_layer<Layers>&&...) Sequential<Layers...> make_sequential(Layers... layers) {
  return {std::tuple<Layers...>(static_cast<Layers&&>(layers)...)};
}
/// Refuses what is no layer.
template <class... Layers>
requires(!(detail::is_layer<Layers> && ...)) Sequential<> make_sequential(Layers...) {
  static_assert(
      (detail::is_layer<Layers> && ...),
      "a layer of make_sequential is called as layer(x), behind x with its state or a key if it takes "
      "them: it must be a function of an Array, or a struct or lambda with such a call operator");
  return {};
}
template <class... Layers>
Sequential(std::tuple<Layers...>) -> Sequential<Layers...>;
template <class Layer>
Sequential(std::vector<Layer>) -> Sequential<std::vector<Layer>>;

/// Layers of one structure, their arrays with an axis more, run by a loop: one program for all of them, which
/// compiles faster than a `Sequential` of many.
template <class Layer>
struct Repeated {
  Layer layers;  ///< array i of layer k is layers' array i, [k]

  /// Each layer is called with what the one before gives, which keeps its shape and dtype.
  Array operator()(const Array& x, Loc loc = Loc::here()) const {
    auto step = [](const Array& h, const Layer& layer) { return std::pair(Array(layer(h)), Nothing{}); };
    return scan(step, x, layers, {}, loc).first;
  }
  /// Layers get a key each, split from this.
  Array operator()(const Array& x, const Array& key, Loc loc = Loc::here())
      const requires std::is_invocable_v<const Layer&, const Array&, const Array&> {
    auto step = [](const Array& h, const std::pair<Layer, Array>& layer) {
      return std::pair(Array(layer.first(h, layer.second)), Nothing{});
    };
    const std::vector<Array> arrays = tree_leaves(layers);
    std::int64_t count = 0;
    for (const Array& a : arrays)
      if (!a.is_empty()) count = a.dim(0, loc);
    return scan(step, x, std::pair(layers, random::split(key, count, loc)), {}, loc).first;
  }
};
/// `count` layers that `make(key)` gives, each of its own key, split from this.
template <class Make>
auto make_repeated(const Make& make, std::int64_t count, const Array& key, Loc loc = Loc::here()) {
  using Layer = std::decay_t<decltype(make(key))>;
  return Repeated<Layer>{
      vmap([&make](const Array& k) { return make(k); }, VmapOptions{}, loc)(random::split(key, count, loc))};
}

/// Any function as a layer that is told from others by its type.
template <class F>
struct Lambda {
  F fn;
  Array operator()(const Array& x) const { return fn(x); }
};
template <class F>
Lambda(F) -> Lambda<F>;

/// x as it is: in the place of a layer that is left out.
struct Identity {
  Array operator()(const Array& x) const { return x; }
};

}  // namespace apsis::nn
