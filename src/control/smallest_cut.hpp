#pragma once

// What must be kept of a program so that its linear part can be run later: the smallest such set of values.

#include "ir/graph.hpp"

namespace apsis::detail {

/// By value: which are made of the inputs marked; an input that is counts as made of itself.
std::vector<char> made_of(const Graph& graph, const std::vector<char>& inputs);

struct Cut {
  std::vector<ValueId> values;
  std::int64_t bytes = 0;
};
/// The values of fewest bytes, the nearest to the inputs `given` among them, from which all that the linear
/// equations and the outputs read of what is made of these inputs follows: a minimum vertex cut. `linear`
/// marks the linear values, `bytes` says what it takes to keep each. Lists cannot be kept.
Cut smallest_cut(const Graph& graph, const std::vector<char>& linear, const std::vector<char>& given,
                 std::span<const std::int64_t> bytes);

/// The bytes of each value.
std::vector<std::int64_t> bytes_of_values(const Graph& graph);

/// Computes `wanted` values of a graph. `values` holds those that are known, by value; the others are empty.
std::vector<Array> interpret_part(const Graph& graph, std::vector<Array> values,
                                  std::span<const ValueId> wanted);

}  // namespace apsis::detail
