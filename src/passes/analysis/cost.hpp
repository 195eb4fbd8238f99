#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// About how many instructions an elementwise equation takes: what its `emit` rule emits, counted.
std::int64_t emission_cost(const Graph& graph, const Eqn& eqn);
/// Whether these combine truths of elements.
bool combines_truths(const Graph& graph, const Eqn& eqn);

}  // namespace apsis::detail
