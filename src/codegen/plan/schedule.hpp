#pragma once

// The order in which a region's equations are written, and which of them become one loop.

#include <span>
#include <vector>

#include "passes/analysis/fusible.hpp"

namespace apsis::detail {

/// One equation, or a cluster: elementwise equations on arrays of one shape in memory, and reductions of such
/// arrays, written as one loop. Sums in it are over the same axes.
struct Item {
  bool cluster = false;
  std::vector<std::uint32_t> eqns;   // in program order
  std::vector<std::uint32_t> again;  // the same: those of earlier loops that this one computes again
};

struct Schedule {
  std::vector<Item>
      invariant;  // depends only on the invariant inputs of a loop body: written once, before the loop
  std::vector<Item> items;
  std::vector<char>
      copied;  // by equation: the part of an array that it takes outlives an update of the array
};

/// `invariant_inputs` is empty, or has one entry an input.
Schedule make_schedule(const Graph& graph, std::int64_t register_limit,
                       std::span<const char> invariant_inputs);

}  // namespace apsis::detail
