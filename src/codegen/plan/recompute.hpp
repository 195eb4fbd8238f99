#pragma once

// Large elementwise results that loops read after the one that makes them: what is cheap is computed again by
// its readers, and no memory holds it.

#include "codegen/plan/schedule.hpp"

namespace apsis::detail {

/// Adds to each loop of a program what it computes again. Not where arrays are updated, or lent to regions.
void find_recomputed(const Graph& graph, std::int64_t register_limit, std::vector<Item>& items);

}  // namespace apsis::detail
