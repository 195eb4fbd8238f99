#pragma once

// Branches and inner loops of a linear program that read parts of large arrays: the parts are read by an
// equation of their own, so that an enclosing loop can keep them in place of the arrays.

#include "ir/graph.hpp"

namespace apsis::detail {

/// Whether an equation with regions reads both a linear value and a large array that is not. `linear` marks
/// the linear inputs.
bool reads_in_regions(const Graph& graph, const std::vector<char>& linear);

/// The same program, where each branch and each loop of known length that is linear in some operands is two
/// equations, if large arrays among its other operands then need not be kept for it: one computes the parts
/// that are read of these arrays, or what is made of the parts, from operands that are not linear; the linear
/// one takes its results in place of the arrays.
GraphRef with_reads_apart(const Graph& graph, const std::vector<char>& linear);

}  // namespace apsis::detail
