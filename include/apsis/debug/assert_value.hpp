#pragma once

// Assertions about values and about trees of arrays.
//
//   assert_trees_close(got, want, {.rtol = 1e-6});
//   assert_tree_finite(gradient);
//   assert_positive(scale, {.message = "the scale of the prior"});
//
// Those on structure, shapes and dtypes look at what is known while a function is traced. Those on values
// compare at once where there are values; where there are none yet (under jit and vmap) they become part of
// the program, and throw when it runs: in any lane, with the path of the leaf and the first element.

#include "apsis/debug/assert_array.hpp"
#include "apsis/tree/tree.hpp"

namespace apsis {

/// How near is near: |a - b| ≤ atol + rtol |b|. NaNs are equal to NaNs, infinities to themselves.
struct CloseOptions {
  double rtol = 1e-6;
  double atol = 0;
  std::string_view message = {};
};
/// How near is near, counted in floats.
struct UlpOptions {
  /// Floats of the dtype between the two, at most. Zeros of both signs are one.
  std::int64_t ulps = 1;
  std::string_view message = {};
};

namespace detail {

/// Which sides of two trees must agree.
enum class TreeAspect : std::uint8_t { Structure, Shapes, Dtypes, ShapesAndDtypes, Sizes };
/// A tree without its type, and its leaves.
struct TreeLeaves {
  ConstTreeRef tree;
  std::vector<Array> leaves;
};
template <class T>
TreeLeaves checked_leaves(const T& tree) {
  TreeLeaves found{tree_ref(tree), {}};
  for_each_leaf(tree, [&found](const Array& a) { found.leaves.push_back(a); });
  return found;
}

void assert_trees_agree(TreeAspect aspect, const TreeLeaves& a, const TreeLeaves& b,
                        const AssertOptions& options, Loc loc);
void assert_trees_close(const TreeLeaves& a, const TreeLeaves& b, const CloseOptions& options, Loc loc);
void assert_trees_close_ulp(const TreeLeaves& a, const TreeLeaves& b, const UlpOptions& options, Loc loc);
void assert_trees_equal(const TreeLeaves& a, const TreeLeaves& b, const AssertOptions& options, Loc loc);
void assert_tree_finite(const TreeLeaves& tree, const AssertOptions& options, Loc loc);
void assert_tree_full(const TreeLeaves& tree, const AssertOptions& options, Loc loc);
void assert_tree_shape_part(const TreeLeaves& tree, const Shape& part, bool prefix,
                            const AssertOptions& options, Loc loc);

}  // namespace detail

/// Throws unless both have the same type, containers of the same sizes and the same static values, and are
/// empty at the same leaves. The first difference is named.
template <class T, class U>
void assert_trees_equal_structure(const T& a, const U& b, const AssertOptions& options = {},
                                  Loc loc = Loc::here()) {
  detail::assert_trees_agree(detail::TreeAspect::Structure, detail::checked_leaves(a),
                             detail::checked_leaves(b), options, loc);
}
/// The same, and equal shapes, leaf by leaf.
template <class T, class U>
void assert_trees_equal_shapes(const T& a, const U& b, const AssertOptions& options = {},
                               Loc loc = Loc::here()) {
  detail::assert_trees_agree(detail::TreeAspect::Shapes, detail::checked_leaves(a), detail::checked_leaves(b),
                             options, loc);
}
/// Equal structure, and equal dtypes.
template <class T, class U>
void assert_trees_equal_dtypes(const T& a, const U& b, const AssertOptions& options = {},
                               Loc loc = Loc::here()) {
  detail::assert_trees_agree(detail::TreeAspect::Dtypes, detail::checked_leaves(a), detail::checked_leaves(b),
                             options, loc);
}
/// Equal structure, shapes and dtypes.
template <class T, class U>
void assert_trees_equal_shapes_and_dtypes(const T& a, const U& b, const AssertOptions& options = {},
                                          Loc loc = Loc::here()) {
  detail::assert_trees_agree(detail::TreeAspect::ShapesAndDtypes, detail::checked_leaves(a),
                             detail::checked_leaves(b), options, loc);
}
/// Equal structure, and leaves with as many elements.
template <class T, class U>
void assert_trees_equal_sizes(const T& a, const U& b, const AssertOptions& options = {},
                              Loc loc = Loc::here()) {
  detail::assert_trees_agree(detail::TreeAspect::Sizes, detail::checked_leaves(a), detail::checked_leaves(b),
                             options, loc);
}

/// Throws unless structure and shapes are equal and all elements near: see CloseOptions. Dtypes may differ.
template <class T, class U>
void assert_trees_close(const T& a, const U& b, const CloseOptions& options = {}, Loc loc = Loc::here()) {
  detail::assert_trees_close(detail::checked_leaves(a), detail::checked_leaves(b), options, loc);
}
/// Throws unless structure, shapes and dtypes are equal and floats at most so many floats of their dtype
/// apart; other elements are equal. Needs values: throws under jit and vmap.
template <class T, class U>
void assert_trees_close_ulp(const T& a, const U& b, const UlpOptions& options = {}, Loc loc = Loc::here()) {
  detail::assert_trees_close_ulp(detail::checked_leaves(a), detail::checked_leaves(b), options, loc);
}
/// Throws unless structure, shapes, dtypes and all elements are equal. NaNs are equal to NaNs.
template <class T, class U>
void assert_trees_equal(const T& a, const U& b, const AssertOptions& options = {}, Loc loc = Loc::here()) {
  detail::assert_trees_equal(detail::checked_leaves(a), detail::checked_leaves(b), options, loc);
}

/// Throws if an element of a leaf is infinite or NaN. Integers and bools are finite.
template <class T>
void assert_tree_finite(const T& tree, const AssertOptions& options = {}, Loc loc = Loc::here()) {
  detail::assert_tree_finite(detail::checked_leaves(tree), options, loc);
}
/// Throws if a leaf is empty.
template <class T>
void assert_tree_full(const T& tree, const AssertOptions& options = {}, Loc loc = Loc::here()) {
  detail::assert_tree_full(detail::checked_leaves(tree), options, loc);
}
/// Throws unless the shape of every leaf begins with these lengths.
template <class T>
void assert_tree_shape_prefix(const T& tree, const Shape& prefix, const AssertOptions& options = {},
                              Loc loc = Loc::here()) {
  detail::assert_tree_shape_part(detail::checked_leaves(tree), prefix, true, options, loc);
}
/// Throws unless the shape of every leaf ends with these lengths.
template <class T>
void assert_tree_shape_suffix(const T& tree, const Shape& suffix, const AssertOptions& options = {},
                              Loc loc = Loc::here()) {
  detail::assert_tree_shape_part(detail::checked_leaves(tree), suffix, false, options, loc);
}

/// Throws unless all elements are above zero; a NaN is not.
void assert_positive(const Array& x, const AssertOptions& options = {}, Loc loc = Loc::here());
/// Throws unless all elements are zero or above.
void assert_non_negative(const Array& x, const AssertOptions& options = {}, Loc loc = Loc::here());
/// Throws unless all elements are below zero.
void assert_negative(const Array& x, const AssertOptions& options = {}, Loc loc = Loc::here());
/// Throws unless all elements are in [low, high].
void assert_in(const Array& x, const Array& low, const Array& high, const AssertOptions& options = {},
               Loc loc = Loc::here());

}  // namespace apsis
