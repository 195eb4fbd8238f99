#pragma once

// What becomes of a program before code is written for it.

#include <span>

#include "ir/graph.hpp"

namespace apsis::detail {

/// A rewrite of whole programs: the same inputs, outputs and values, bit for bit.
struct Pass {
  const char* name;
  GraphRef (*run)(const Graph&);
};

/// All passes, in the order in which they run. The environment variable APSIS_PRINT_PASSES names those after
/// which a program is printed to the standard error stream: `all`, or names with commas between.
std::span<const Pass> passes();
/// The program after all passes.
GraphRef run_passes(const Graph& graph);

}  // namespace apsis::detail
