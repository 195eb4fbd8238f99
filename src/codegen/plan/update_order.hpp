#pragma once

// In which order a region reads and updates the arrays that it updates in place.

#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

/// An order of a graph's equations in which arrays are read before they are updated wherever the program
/// allows it: the update then needs no copy of the array.
struct UpdateOrder {
  std::vector<std::uint32_t> eqns;
  /// By equation: the ones that read what it updates, and come before it.
  std::vector<std::vector<std::uint32_t>> after;
  /// By equation: its result, part of an array, must be copied, as it is read when the array has been
  /// updated.
  std::vector<char> copied;
};
UpdateOrder order_updates(const Graph& graph, std::int64_t register_limit);

}  // namespace apsis::detail
