#pragma once

// Cotangents of the leaves of a solve: those of integers stay empty, and empty ones are zeros.

#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"

namespace apsis::detail {

using Arrays = std::vector<Array>;

inline Arrays zeros_of(const Arrays& like) {
  Arrays zeros;
  for (const Array& a : like) zeros.push_back(is_floating(a.dtype()) ? zeros_like(a) : Array());
  return zeros;
}
/// a + b, where empty arrays are zeros that stay.
inline Arrays sum_of(Arrays a, const Arrays& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!a[i].is_empty() && !b[i].is_empty()) a[i] = a[i] + b[i];
  return a;
}
/// Cotangents, zeros where there are none.
inline Arrays there(Arrays cotangents, const Arrays& like) {
  for (std::size_t i = 0; i < like.size(); ++i)
    if (cotangents[i].is_empty()) cotangents[i] = zeros_like(like[i]);
  return cotangents;
}

}  // namespace apsis::detail
