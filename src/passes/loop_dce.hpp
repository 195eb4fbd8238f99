#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// The graph with loops, in regions too, without the carries that nothing reads but what computes them again,
/// the ys that nobody reads, and the constants and xs that only these need; with maps over lanes without the
/// results that nobody reads. A derivative reads the record of a loop, and not the buffer that the loop
/// filled on its way. Inputs and outputs of the graph stay.
GraphRef remove_dead_carries(const Graph& graph);
/// The same of a program that is linear in some of its inputs and may be transposed.
GraphRef remove_dead_carries_of_linear(const Graph& graph);

/// The inputs that the marked outputs, and effects, are computed from, through loops as above.
std::vector<char> inputs_read(const Graph& graph, const std::vector<char>& outputs);

}  // namespace apsis::detail
