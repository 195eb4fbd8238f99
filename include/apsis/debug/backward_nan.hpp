#pragma once

#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

namespace apsis::debug {

/// `x` itself. In reverse mode, the cotangent that comes back through it is looked at: one with a NaN throws,
/// with `name` and the place of this call. Put several into a function to find where a gradient turns NaN.
/// (Equinox: debug.backward_nan.)
Array backward_nan(const Array& x, const char* name = "x", Loc loc = Loc::here());

/// Of every floating array of a tree.
template <class T>
requires(!std::is_convertible_v<const T&, Array>) T
    backward_nan(T tree, const char* name = "x", Loc loc = Loc::here()) {
  for_each_leaf(tree, [&](Array& a) {
    if (!a.is_empty() && is_inexact(a.dtype())) a = backward_nan(a, name, loc);
  });
  return tree;
}

}  // namespace apsis::debug
