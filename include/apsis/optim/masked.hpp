#pragma once

// Transformations of some leaves only. Leaves are chosen by functions of a leaf, `f(leaf)`, or of leaf and
// path, `f(leaf, path)`, with the paths of `tree_paths`; they may ask for shape and dtype, not for values.
//
//   auto decayed = optim::masked(optim::AddDecayedWeights{1e-4}, [](const Array& x) { return x.ndim() > 1;
//   }); auto parts = optim::multi_transform(
//       [](const Array&, const std::string& path) { return path.starts_with("head") ? "head" : "body"; },
//       optim::labelled("head", optim::Adam{1e-2}), optim::labelled("body", optim::SetToZero{}));

#include <string>

#include "apsis/optim/chain.hpp"
#include "apsis/optim/scale.hpp"
#include "apsis/tree/filter.hpp"

namespace apsis::optim {

namespace detail {
/// Throws where a leaf has a label that no transformation has.
void check_labels(ConstTreeRef params, const std::vector<Array>& leaves,
                  const std::vector<std::string>& labels, const std::vector<std::string>& known, Loc loc);
template <class Label, class P>
std::vector<std::string> labels_of(const Label& label, const P& params) {
  std::vector<std::string> labels, paths = leaf_paths(tree_ref(params), {});
  std::size_t i = 0;
  for_each_leaf(params, [&](const Array& leaf) {
    if (leaf.is_empty()) {
      labels.emplace_back();
    } else if constexpr (requires { std::string(label(leaf)); }) {
      labels.emplace_back(label(leaf));
    } else {
      labels.emplace_back(label(leaf, static_cast<const std::string&>(paths[i])));
    }
    ++i;
  });
  return labels;
}
/// The leaves whose entry in `labels` is `wanted`, or is not.
template <class P>
P with_label(P tree, const std::vector<std::string>& labels, const std::string& wanted) {
  auto label = labels.begin();
  for_each_leaf(tree, [&](Array& leaf) {
    if (*label++ != wanted) leaf = Array();
  });
  return tree;
}
}  // namespace detail

/// What `masked` makes.
template <class T, class F>
struct Masked {
  T inner;
  F mask;

  template <class P>
  state_t<T, P> init(const P& params, Loc loc = Loc::here()) const {
    return detail::init(inner, filter(params, mask), loc);
  }
  template <class P>
  std::pair<P, state_t<T, P>> update(const P& gradient, const state_t<T, P>& state, const P& params,
                                     const Extra& extra = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    // The parameters alone decide: gradients have other leaves.
    const P chosen = filter(params, mask);
    auto keep = [](const Array& g, const Array& p) { return p.is_empty() ? Array() : g; };
    auto [updates, next] =
        detail::update(inner, tree_map(keep, gradient, chosen, loc), state, chosen, extra, loc);
    return {combine(updates, gradient, loc), std::move(next)};
  }
};
/// Transforms the leaves that `mask` chooses; the gradients of the others stay as they are.
template <class T, class F>
Masked<T, F> masked(T inner, F mask) {
  return {std::move(inner), std::move(mask)};
}
/// Zeros for the leaves that `mask` chooses: they stay as they are.
template <class F>
Masked<SetToZero, F> freeze(F mask) {
  return {{}, std::move(mask)};
}

/// A transformation with the label that `multi_transform` finds it by.
template <class T>
struct Labelled {
  std::string label;
  T transformation;
};
/// A transformation with a label.
template <class T>
Labelled<T> labelled(std::string label, T transformation) {
  return {std::move(label), std::move(transformation)};
}
/// What `multi_transform` makes. Its state is the tuple of theirs.
template <class F, class... T>
struct MultiTransform {
  F label;
  std::tuple<Labelled<T>...> parts;

  template <class P>
  std::tuple<state_t<T, P>...> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const std::vector<std::string> labels = detail::labels_of(label, params);
    return std::apply(
        [&](const Labelled<T>&... t) {
          detail::check_labels(tree_ref(params), tree_leaves(params), labels, {t.label...}, loc);
          return std::tuple(
              detail::init(t.transformation, detail::with_label(params, labels, t.label), loc)...);
        },
        parts);
  }
  template <class P>
  std::pair<P, std::tuple<state_t<T, P>...>> update(const P& gradient,
                                                    const std::tuple<state_t<T, P>...>& state,
                                                    const P& params, const Extra& extra = {},
                                                    Loc loc = Loc::here()) const {
    const LocScope place(loc);
    const std::vector<std::string> labels = detail::labels_of(label, params);
    std::pair<P, std::tuple<state_t<T, P>...>> result{gradient, state};
    auto apply = [&](const auto& t, auto& s) {
      auto [updates, next] = detail::update(t.transformation, detail::with_label(gradient, labels, t.label),
                                            s, detail::with_label(params, labels, t.label), extra, loc);
      result.first = combine(updates, result.first, loc);
      s = std::move(next);
    };
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (apply(std::get<i>(parts), std::get<i>(result.second)), ...);
    }
    (std::index_sequence_for<T...>{});
    return result;
  }
};
/// Each leaf by the transformation with its label, a string that `label` returns. `init` throws for a label
/// that none has. (Optax: `partition`, before `multi_transform`.)
template <class F, class... T>
MultiTransform<F, T...> multi_transform(F label, Labelled<T>... parts) {
  return {std::move(label), {std::move(parts)...}};
}

}  // namespace apsis::optim
