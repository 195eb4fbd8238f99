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

/// f(… f(f(start, leaf), leaf) …, leaf) over the leaves in declaration order; empty ones are left out.
/// (jax.tree.reduce)
template <class Leaf = Array, class F, class T, class Value>
Value tree_reduce(F&& f, const T& tree, Value start) {
  for_each_leaf(tree, [&](const Leaf& leaf) {
    if (!is_leaf<Leaf>::empty(leaf)) start = f(static_cast<Value&&>(start), leaf);
  });
  return start;
}

namespace detail {
[[noreturn]] void fail_transpose(std::size_t outer, std::size_t leaves, std::size_t wanted, Loc loc);
}

/// A tree of trees the other way round: leaf j of tree i becomes leaf i of tree j. `outer` has the structure
/// of the trees' tree, `transposed` that of the result; what their leaves are does not count. Throws where
/// the numbers of leaves do not fit. (jax.tree.transpose)
///
///     std::vector<std::pair<Array, Array>> runs = …;
///     std::pair<std::vector<Array>, std::vector<Array>> columns = {{}, {}};
///     columns.first.resize(runs.size()), columns.second.resize(runs.size());
///     columns = tree_transpose(std::vector<Array>(runs.size()), runs, columns);
template <class Leaf = Array, class Outer, class T, class R>
R tree_transpose(const Outer& outer, const T& tree, R transposed, Loc loc = Loc::here()) {
  const std::vector<Leaf> leaves = tree_leaves<Leaf>(tree);
  const std::size_t rows = leaf_count(outer);
  if (rows == 0 || leaves.size() % rows != 0 || leaf_count(transposed) != leaves.size())
    detail::fail_transpose(rows, leaves.size(), leaf_count(transposed), loc);
  const std::size_t columns = leaves.size() / rows;
  std::size_t next = 0;
  for_each_leaf(transposed, [&](Leaf& leaf) {
    leaf = leaves[next % rows * columns + next / rows];
    ++next;
  });
  return transposed;
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
