#pragma once

// The order in which a region's equations are written, and which of them become one loop.

#include <span>
#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

/// One equation, or a cluster: elementwise equations on arrays of one shape in memory, and reductions of such
/// arrays, written as one loop.
struct Item {
  bool cluster = false;
  std::vector<std::uint32_t> eqns;  // in program order
};

struct Schedule {
  std::vector<Item>
      invariant;  // depends only on the invariant inputs of a loop body: written once, before the loop
  std::vector<Item> items;
  std::vector<char>
      copied;  // by equation: the part of an array that it takes outlives an update of the array
};

/// True if a value of this kind is held in registers, one a element.
bool in_registers(const Aval& aval, std::int64_t limit);

/// True if the op can be part of a fused loop: elementwise, emitted, on real dtypes.
bool fusible(const Graph& graph, const Eqn& eqn);

/// True for a reduction of a whole array to one element that comes out the same in any order, and if it meets
/// an element twice: a fused loop that goes over the array accumulates it.
bool accumulates(const Graph& graph, const Eqn& eqn);

/// `invariant_inputs` is empty, or has one entry an input.
Schedule make_schedule(const Graph& graph, std::int64_t register_limit,
                       std::span<const char> invariant_inputs);

}  // namespace apsis::detail
