#pragma once

// What a function of the program costs that is called instead of written in place.

#include <algorithm>

#include "ir/graph.hpp"

namespace apsis::detail {

/// About how many instructions an equation has, arrays up to `register_limit` elements being in registers.
std::int64_t code_length(const Graph& graph, const Eqn& e, std::int64_t register_limit);
/// The same of all equations.
std::int64_t code_length(const Graph& graph, std::int64_t register_limit);

/// Elements, or addresses of larger arrays, that go to a function or come from it with a value.
inline std::int64_t passed_elements(const Aval& aval, std::int64_t register_limit) {
  return aval.size() <= register_limit ? aval.size() : 1;
}

/// Whether a call costs nothing to speak of beside the function. It stores and loads the function's results
/// and what the caller holds in registers: some twenty instructions, and a few for each element that is
/// passed. Measured: docs/design/functions.md.
inline bool worth_calling(std::int64_t length, std::int64_t passed) {
  constexpr std::int64_t shortest = 100, passing = 32;
  return length >= std::max(shortest, passing * passed);
}

}  // namespace apsis::detail
