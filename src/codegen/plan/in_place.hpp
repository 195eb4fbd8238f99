#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

/// For each output, the input in whose memory it may be made by the code that `compile` writes, both then
/// being one address; -1: in none. No input serves two outputs.
std::vector<std::int32_t> overwritable_inputs(const Graph& graph);

}  // namespace apsis::detail
