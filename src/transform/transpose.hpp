#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// Cotangents of the inputs marked `linear`, given those of the outputs (empty = zero, in and out). `inputs`
/// holds the values of the other inputs. What does not depend on linear inputs is computed forwards first.
/// Runs under the current trace, in time linear in the graph.
std::vector<Array> backward_pass(const Graph& graph, const std::vector<bool>& linear,
                                 std::span<const Array> inputs, std::span<const Array> cotangents);

/// The transposed graph: inputs are the non-linear inputs in order, then the cotangents of the outputs marked
/// `ct_mask`; outputs are the cotangents of the linear inputs marked in `out_mask` (the others are zero), in
/// order. With `instantiate[i]` (by linear input, counted among the linear ones) the cotangent is there even
/// if zero.
GraphRef transpose_graph(const Graph& graph, const std::vector<bool>& linear,
                         const std::vector<bool>& ct_mask, const std::vector<bool>& instantiate,
                         std::vector<bool>& out_mask);

}  // namespace apsis::detail
