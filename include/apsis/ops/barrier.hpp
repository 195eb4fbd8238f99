#pragma once

#include <span>

#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

namespace apsis {

namespace detail {
std::vector<Array> barrier(std::span<const Array> values, Loc loc);
}

/// The same tree, fenced off: equal computations on the two sides of it are not merged, and no op is fused or
/// simplified across it. All arrays of the tree are ready before any that comes out is used. (JAX:
/// lax.optimization_barrier.)
template <class T>
T optimization_barrier(const T& tree, Loc loc = Loc::here()) {
  std::vector<Array> leaves;
  for_each_leaf(tree, [&leaves](const Array& a) {
    if (!a.is_empty()) leaves.push_back(a);
  });
  leaves = detail::barrier(leaves, loc);
  T fenced = tree;
  std::size_t next = 0;
  for_each_leaf(fenced, [&](Array& a) {
    if (!a.is_empty()) a = leaves[next++];
  });
  return fenced;
}

}  // namespace apsis
