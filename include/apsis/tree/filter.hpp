#pragma once

#include "apsis/tree/map.hpp"

namespace apsis {

namespace detail {

/// Clears the leaves for which `wanted(leaf)` or `wanted(leaf, path)` is not `keep`.
template <class T, class Predicate>
void clear_leaves(T& tree, Predicate& wanted, bool keep) {
  auto clear = [](auto& leaf) { leaf = std::remove_reference_t<decltype(leaf)>(); };
  std::vector<std::string> paths;
  std::size_t i = 0;
  for_each_leaf(tree, [&]<class Leaf>(Leaf& leaf) {
    if (is_leaf<Leaf>::empty(leaf)) {
      ++i;
      return;
    }
    const Leaf& value = leaf;
    if constexpr (requires { wanted(value); }) {
      if (static_cast<bool>(wanted(value)) != keep) clear(leaf);
    } else {
      if (paths.empty()) paths = leaf_paths(tree_ref(tree), {});
      if (static_cast<bool>(wanted(value, static_cast<const std::string&>(paths[i]))) != keep) clear(leaf);
    }
    ++i;
  });
}

}  // namespace detail

/// The tree with only the leaves for which `wanted(leaf)`, or `wanted(leaf, path)`, is true; the others are
/// empty.
template <class T, class Predicate>
std::remove_cvref_t<T> filter(T&& tree, Predicate&& wanted) {
  check_nesting(tree);
  std::remove_cvref_t<T> result = static_cast<T&&>(tree);
  detail::clear_leaves(result, wanted, true);
  return result;
}

/// Splits a tree in two of its type: the leaves for which `wanted(leaf)`, or `wanted(leaf, path)`, is true,
/// and the rest; each is empty where the other is not. `combine` puts them together again.
template <class T, class Predicate>
std::pair<std::remove_cvref_t<T>, std::remove_cvref_t<T>> partition(T&& tree, Predicate&& wanted) {
  check_nesting(tree);
  std::pair<std::remove_cvref_t<T>, std::remove_cvref_t<T>> parts{tree, static_cast<T&&>(tree)};
  detail::clear_leaves(parts.first, wanted, true);
  detail::clear_leaves(parts.second, wanted, false);
  return parts;
}

namespace detail {
template <class T, class... Other>
std::remove_cvref_t<T> combine_at(Loc loc, T&& first, const Other&... other) {
  const LocScope place(loc);
  check_nesting(first);
  std::remove_cvref_t<T> result = static_cast<T&&>(first);
  zip_leaves(
      "combine", result,
      []<class Leaf>(Leaf& leaf, const auto&... others) {
        ((is_leaf<Leaf>::empty(leaf) ? void(leaf = others) : void()), ...);
      },
      other...);
  return result;
}
}  // namespace detail

#define APSIS_COMBINE(name, declared, types, parameters, arguments)              \
  template <class T APSIS_LIST declared>                                         \
  requires(detail::is_one_type<T APSIS_LIST types>) std::remove_cvref_t<T> name( \
      T&& first, APSIS_LIST parameters Loc loc = Loc::here()) {                  \
    return detail::name##_at(loc, static_cast<T&&>(first) APSIS_LIST arguments); \
  }
/// `combine(tree, other…)`: for each leaf the first that is not empty. Static values are those of the first
/// tree. Throws when the structures differ.
APSIS_UP_TO_SIX(APSIS_COMBINE, combine)
#undef APSIS_COMBINE
template <class T, class... Other>
requires(!detail::is_one_type<T, Other...>) std::remove_cvref_t<T> combine(T&& first, const Other&...) {
  (void)sizeof(detail::CheckOneType<T, Other...>);
  return first;
}

}  // namespace apsis
