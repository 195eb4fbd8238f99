#pragma once

// Arrays that are made where a result of the program will be: the loop that makes the result reads them last.

#include "codegen/plan/schedule.hpp"

namespace apsis::detail {

struct EarlyResult {
  ValueId array, result;
};

/// At most one array for each of the results, which are outputs; none for one that is several of them.
/// Nothing else may be in a result's memory but an input of the same type.
std::vector<EarlyResult> find_early_results(const Graph& graph, std::span<const Item> items,
                                            std::span<const ValueId> results);

}  // namespace apsis::detail
