#pragma once

#include <span>
#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

/// Values one of which has an element that is not zero exactly if one of the `errors` (error_if equations of
/// the graph) has something to raise. `from`: the first of the equations that errors may be told from.
std::vector<ValueId> error_tests(const Graph& graph, std::span<const std::uint32_t> errors,
                                 std::uint32_t from);

}  // namespace apsis::detail
