#pragma once

// Reshapes that only put neighbouring axes together, or add and drop axes of length 1.

#include <optional>
#include <vector>

#include "apsis/core/shape.hpp"

namespace apsis::detail {

inline Shape without_units(const Shape& shape) {
  Shape kept;
  for (const std::int64_t n : shape)
    if (n != 1) kept.push_back(n);
  return kept;
}

/// Axes from `first` to before `end`.
struct AxisGroup {
  std::size_t first = 0, end = 0;
};

/// For each axis of `whole` the axes of `parts` that it is made of, if neighbouring axes of `parts` make up
/// those of `whole`.
inline std::optional<std::vector<AxisGroup>> axis_groups(const Shape& parts, const Shape& whole) {
  std::vector<AxisGroup> groups;
  std::size_t next = 0;
  for (const std::int64_t n : whole) {
    AxisGroup group{next, next};
    for (std::int64_t size = 1; size != n; size *= parts[group.end++])
      if (size > n || group.end == parts.size() || parts[group.end] == 0) return std::nullopt;
    next = group.end;
    groups.push_back(group);
  }
  for (; next < parts.size(); ++next) {
    if (parts[next] != 1 || groups.empty()) return std::nullopt;
    groups.back().end = next + 1;
  }
  return groups;
}

}  // namespace apsis::detail
