#pragma once

#include "apsis/base/with_place.hpp"
#include "apsis/tree/equal.hpp"
#include "apsis/tree/path.hpp"

namespace apsis {

namespace detail {

/// The addresses of a tree's leaves, on the stack where their number is known.
template <class T, bool fixed = (static_leaf_count<T> >= 0)>
struct LeafTable {
  const void* leaves[static_leaf_count<T> > 0 ? static_leaf_count<T> : 1];
  explicit LeafTable(const T& tree) {
    const void** next = leaves;
    for_each_leaf(tree, [&next](const auto& leaf) { *next++ = &leaf; });
  }
};
template <class T>
struct LeafTable<T, false> {
  std::vector<const void*> leaves;
  explicit LeafTable(const T& tree) {
    for_each_leaf(tree, [this](const auto& leaf) { leaves.push_back(&leaf); });
  }
};

/// Whether trees can be combined leaf by leaf, by their types. (A place among them is none of them.)
template <class T, class... Other>
inline constexpr bool is_one_type = (std::is_same_v<std::remove_cvref_t<T>, Other> && ...) ||
                                    (std::is_same_v<Other, Loc> || ...);
template <class T, class... Other>
struct CheckOneType {
  static_assert(is_one_type<T, Other...>, "trees that are combined leaf by leaf must be of one type");
};

/// Calls `f(leaf, other...)` for the leaves of `tree` and those in the same place of the others.
template <class T, class F, class... Other>
void zip_leaves(const char* where, T& tree, F&& f, const Other&... other) {
  (void)sizeof(CheckOneType<std::remove_const_t<T>, Other...>);
  if constexpr (!is_static_shape<T>) {
    std::size_t number = 1;
    (require_same_structure(where, tree_ref(tree), tree_ref(other), ++number), ...);
  }
  [&](const LeafTable<Other>&... table) {
    std::size_t i = 0;
    for_each_leaf(tree, [&](auto& leaf) {
      using Leaf = std::remove_cvref_t<decltype(leaf)>;
      f(leaf, *static_cast<const Leaf*>(table.leaves[i])...);
      ++i;
    });
  }(LeafTable<Other>(other)...);
}

}  // namespace detail

/// All leaves in declaration order, empty ones included.
template <class Leaf = Array, class T>
std::vector<Leaf> tree_leaves(const T& tree) {
  std::vector<Leaf> leaves;
  leaves.reserve(leaf_count(tree));
  for_each_leaf(tree, [&leaves](const Leaf& leaf) { leaves.push_back(leaf); });
  return leaves;
}

namespace detail {
template <class F, class T, class... Other>
std::remove_cvref_t<T> tree_map_at(Loc loc, F&& f, T&& tree, const Other&... other) {
  const LocScope place(loc);
  check_nesting(tree);
  std::remove_cvref_t<T> result = static_cast<T&&>(tree);
  zip_leaves(
      "tree_map", result,
      [&f](auto& leaf, const auto&... others) {
        using Leaf = std::remove_reference_t<decltype(leaf)>;
        if (!is_leaf<Leaf>::empty(leaf)) leaf = f(static_cast<const Leaf&>(leaf), others...);
      },
      other...);
  return result;
}
}  // namespace detail

#define APSIS_TREE_MAP(name, declared, types, parameters, arguments)                                 \
  template <class F, class T APSIS_LIST declared>                                                    \
  requires(detail::is_one_type<T APSIS_LIST types>) std::remove_cvref_t<T> name(                     \
      F&& f, T&& tree, APSIS_LIST parameters Loc loc = Loc::here()) {                                \
    return detail::name##_at(loc, static_cast<F&&>(f), static_cast<T&&>(tree) APSIS_LIST arguments); \
  }
/// `tree_map(f, tree, other…)`: a tree of the same type with the leaves `f(leaf, other leaf…)`. Static values
/// are those of the first tree. Where the first tree's leaf is empty nothing is called and it stays empty
/// (JAX's treatment of None); leaves of the other trees may be empty when `f` is called. Throws when the
/// structures differ.
APSIS_UP_TO_SIX(APSIS_TREE_MAP, tree_map)
#undef APSIS_TREE_MAP
template <class F, class T, class... Other>
requires(!detail::is_one_type<T, Other...>) std::remove_cvref_t<T> tree_map(F&&, T&& tree, const Other&...) {
  (void)sizeof(detail::CheckOneType<T, Other...>);
  return tree;
}

/// As `tree_map`, with `f(path, leaf)`; paths as `tree_paths` gives them.
template <class F, class T>
std::remove_cvref_t<T> tree_map_with_path(F&& f, T&& tree, std::string_view root = {}) {
  std::vector<std::string> paths = detail::leaf_paths(tree_ref(tree), root);
  const std::string* path = paths.data();
  std::remove_cvref_t<T> result = static_cast<T&&>(tree);
  for_each_leaf(result, [&](auto& leaf) {
    using Leaf = std::remove_reference_t<decltype(leaf)>;
    const std::string& name = *path++;
    if (!is_leaf<Leaf>::empty(leaf)) leaf = f(name, static_cast<const Leaf&>(leaf));
  });
  return result;
}

}  // namespace apsis
