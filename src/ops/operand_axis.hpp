#pragma once

// What the rules that say which axis of an operand is one of the result are written with (Op::operand_axis).

#include <algorithm>

#include "apsis/core/aval.hpp"

namespace apsis::detail {

/// The place of an axis in a list of axes; -1 if it is not there.
inline std::int64_t place_in(const Dims& axes, std::int64_t axis) {
  const auto at = std::ranges::find(axes, axis);
  return at == axes.end() ? -1 : at - axes.begin();
}

inline bool same_length(const Aval& a, const Aval& b, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  return a.shape()[at] == b.shape()[at];
}

}  // namespace apsis::detail
