#pragma once

// What the leaves of a tree are, for `filter` and `partition`:
//
//   auto [trained, fixed] = partition(model, is_inexact_array);
//   auto slope = grad([&](const Model& m) { return loss(combine(m, fixed)); })(trained);

#include "apsis/core/array.hpp"

namespace apsis {

/// Whether there is an array at all.
inline bool is_array(const Array& x) { return !x.is_empty(); }
/// Whether it is floating or complex: what derivatives are taken of.
inline bool is_inexact_array(const Array& x) { return !x.is_empty() && is_inexact(x.dtype()); }

}  // namespace apsis
