#pragma once

// Layers whose weights are functions of other parameters: normalised, or shared.

#include <optional>
#include <utility>

#include "apsis/core/array.hpp"
#include "apsis/tree/static.hpp"

namespace apsis::nn {

/// What SpectralNorm knows of its weight: estimates of its first singular vectors.
struct SpectralNormState {
  Array u, v;  ///< [rows], [columns] of the weight as a matrix
};

namespace detail {
/// Of random vectors, after 15 iterations. Throws if the weight has less than two axes.
SpectralNormState spectral_start(const Array& weight, const Array& key, double eps, Loc loc);
/// The next state, after some power iterations, and the weight divided by its spectral norm.
std::pair<Array, SpectralNormState> spectral_step(const Array& weight, const SpectralNormState& state,
                                                  int iterations, double eps);
/// The norm of each entry along an axis, or of all; that axis stays, the others have size 1.
Array norm_except(const Array& v, std::optional<int> axis);
/// Throws unless the leaves of both have the same shapes and dtypes.
void check_shared(std::span<const Array> where, std::span<const Array> get, Loc loc);
}  // namespace detail

/// A layer whose weight is divided by an estimate of its largest singular value (Miyato et al. 2018): a
/// Linear, a Conv, or any layer, and the member that is normalised. The estimate is a state, which each call
/// in training improves.
template <class Layer, Array Layer::*weight = &Layer::weight>
struct SpectralNorm {
  using State = SpectralNormState;
  Layer layer;
  int num_power_iterations = 1;
  Static<double> eps = 1e-12;
  bool inference = false;

  /// Throws if the weight has less than two axes.
  SpectralNormState init_state(const Array& key, Loc loc = Loc::here()) const {
    return detail::spectral_start(layer.*weight, key, eps, loc);
  }
  /// layer(x) with the normalised weight, and the next state.
  std::pair<Array, SpectralNormState> operator()(const Array& x, const SpectralNormState& state,
                                                 Loc loc = Loc::here()) const {
    const LocScope place(loc);
    auto [normalised, next] =
        detail::spectral_step(layer.*weight, state, inference ? 0 : num_power_iterations, eps);
    Layer used = layer;
    used.*weight = normalised;
    return {used(x), next};
  }
};
template <class Layer>
SpectralNorm(Layer) -> SpectralNorm<Layer>;

/// A layer whose weight is g · weight / |weight|, direction and length apart (Salimans and Kingma 2016).
template <class Layer, Array Layer::*weight = &Layer::weight>
struct WeightNorm {
  Layer layer;                  ///< its weight gives the directions
  Array g;                      ///< the lengths
  std::optional<int> axis = 0;  ///< of the outputs, each of which has a length; without, all have one

  /// layer(x) with that weight.
  Array operator()(const Array& x, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    Layer used = layer;
    used.*weight = layer.*weight * g / detail::norm_except(layer.*weight, axis);
    return used(x);
  }
};
/// Such that it does what the layer did.
template <class Layer>
WeightNorm<Layer> make_weight_norm(const Layer& layer, std::optional<int> axis = 0, Loc loc = Loc::here()) {
  const LocScope place(loc);
  return {layer, detail::norm_except(layer.weight, axis), axis};
}

/// A tree with parameters that stand in several places of it. Trees have no identity: arrays in two places
/// are two parameters, also behind a std::shared_ptr. Here one of them is kept, and put into the others'
/// places by the call operator:
///
///   auto tied = nn::make_shared(
///       std::pair(embedding, linear), [](auto& m) -> Array& { return m.second.weight; },
///       [](const auto& m) { return m.first.weight; });
///   auto [embedding, linear] = tied();
template <class Tree, class Where, class Get>
struct Shared {
  Tree tree;    ///< without what is shared
  Where where;  ///< (Tree&) → the place: a reference, or std::tie of several
  Get get;      ///< (const Tree&) → what is put there: a value, or a std::tuple of several

  /// The whole tree.
  Tree operator()() const {
    Tree whole = tree;
    where(whole) = get(tree);
    return whole;
  }
};
/// Empties the places. `where` and `get` are lambdas without captures. Throws if what is to be put there has
/// other shapes or dtypes.
template <class Tree, class Where, class Get>
Shared<Tree, Where, Get> make_shared(Tree tree, Where where, Get get, Loc loc = Loc::here()) {
  using Value = std::decay_t<decltype(get(tree))>;
  Value value = get(tree), before = value;
  before = where(tree);
  detail::check_shared(tree_leaves(before), tree_leaves(value), loc);
  where(tree) = Value();
  return {tree, where, get};
}

}  // namespace apsis::nn
