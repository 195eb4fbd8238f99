#pragma once

#include "apsis/tree/tree.hpp"

namespace apsis {

/// A part of a tree that is fixed at compile time of the traced program: a static value or a container's
/// size.
struct StaticPart {
  std::string path;
  std::string type;
  std::string value;
  friend bool operator==(const StaticPart&, const StaticPart&) = default;
};

namespace detail {
std::vector<std::string> leaf_paths(ConstTreeRef tree, std::string_view root);
std::string leaf_path(ConstTreeRef tree, std::size_t index, std::string_view root);
std::vector<StaticPart> static_parts(ConstTreeRef tree, std::string_view root);
}  // namespace detail

/// The path of each leaf in order: `model.layers[1].weight`, `state.first`, `weights["key"]`. Without a root,
/// the leading dot is left out.
template <class T>
std::vector<std::string> tree_paths(const T& tree, std::string_view root = {}) {
  return detail::leaf_paths(tree_ref(tree), root);
}

/// The path of the leaf with this index, as `tree_paths` gives it; for error messages.
template <class T>
std::string leaf_path(const T& tree, std::size_t index, std::string_view root = {}) {
  return detail::leaf_path(tree_ref(tree), index, root);
}

/// Everything of the tree that is part of the cache key, for people: path, type and value of each static
/// leaf, and the sizes of containers.
template <class T>
std::vector<StaticPart> static_parts(const T& tree, std::string_view root = {}) {
  return detail::static_parts(tree_ref(tree), root);
}

}  // namespace apsis
