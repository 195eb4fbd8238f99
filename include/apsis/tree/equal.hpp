#pragma once

#include "apsis/tree/tree.hpp"

namespace apsis {

namespace detail {
bool structures_equal(ConstTreeRef a, ConstTreeRef b);
bool trees_equal(ConstTreeRef a, ConstTreeRef b);
std::string structure_difference(ConstTreeRef a, ConstTreeRef b, std::string_view root);
/// Throws when the structures of two trees differ, naming `where`, the number of the second argument, and the
/// place.
void require_same_structure(const char* where, ConstTreeRef first, ConstTreeRef other, std::size_t number);
}  // namespace detail

/// Whether two trees have the same type, containers of the same sizes, and the same static values. Leaves do
/// not count.
template <class T, class U>
bool tree_structure_equal(const T& a, const U& b) {
  return detail::structures_equal(tree_ref(a), tree_ref(b));
}

/// Whether two trees have the same structure and equal leaves (Arrays: same dtype, shape and bits).
template <class T, class U>
bool tree_equal(const T& a, const U& b) {
  return detail::trees_equal(tree_ref(a), tree_ref(b));
}

/// The first place where two structures differ, for people: "`model.layers` is a sequence of 2 in the first,
/// a sequence of 3 in the second". Empty when they are equal.
template <class T, class U>
std::string structure_difference(const T& a, const U& b, std::string_view root = {}) {
  return detail::structure_difference(tree_ref(a), tree_ref(b), root);
}

/// The same of what `flatten` left of two trees.
inline std::string structure_difference(const TreeDef& a, const TreeDef& b, std::string_view root = {}) {
  return detail::structure_difference(a.prototype(), b.prototype(), root);
}

}  // namespace apsis
