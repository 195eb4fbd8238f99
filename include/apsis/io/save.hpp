#pragma once

// Trees in files. A file is a NumPy .npz: one array a leaf, named by its path, so `numpy.load("model.npz")`
// reads it too.
//
//   save("model.npz", model);
//   Model again = load("model.npz", model);      // the second argument gives the structure; its values do
//   not matter

#include <string>

#include "apsis/core/array.hpp"
#include "apsis/tree/path.hpp"
#include "apsis/tree/tree.hpp"

namespace apsis {

namespace detail {
void save_leaves(const std::string& path, const std::vector<std::string>& names,
                 std::span<const Array> leaves, Loc loc);
std::vector<Array> load_leaves(const std::string& path, const std::vector<std::string>& names,
                               std::span<const Array> like, Loc loc);
}  // namespace detail

/// Writes all arrays of a tree under their paths. The file appears whole or not at all, whoever else
/// writes or reads it; a link stays, and what it points to is replaced. Throws if it cannot be written, or an
/// array is traced.
template <class T>
void save(const std::string& path, const T& tree, Loc loc = Loc::here()) {
  std::vector<Array> leaves;
  for_each_leaf(tree, [&](const Array& a) { leaves.push_back(a); });
  detail::save_leaves(path, tree_paths(tree), leaves, loc);
}

/// A tree like `like` with the arrays of a file. Static values are those of `like`. Throws if the file cannot
/// be read, is damaged, or its names, shapes and dtypes are not those of the tree, saying which.
template <class T>
T load(const std::string& path, const T& like, Loc loc = Loc::here()) {
  std::vector<Array> leaves;
  for_each_leaf(like, [&](const Array& a) { leaves.push_back(a); });
  leaves = detail::load_leaves(path, tree_paths(like), leaves, loc);
  T tree = like;
  assign_leaves(tree, leaves);
  return tree;
}

/// One array as NumPy's .npy. bf16 is stored as two-byte void, as NumPy's extension types do.
void save_npy(const std::string& path, const Array& array, Loc loc = Loc::here());
/// Throws if the file cannot be read, is damaged, or holds elements there is no dtype for. Column-major
/// arrays are transposed on the way, big-endian ones turned, and bytes of bools other than 0 are true.
Array load_npy(const std::string& path, Loc loc = Loc::here());

}  // namespace apsis
