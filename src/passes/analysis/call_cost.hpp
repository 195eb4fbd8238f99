#pragma once

// What a function of the program costs that is called instead of written in place.

#include <algorithm>
#include <vector>

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

/// By value: whether a call makes it and calls alone read it, as the pull-back of a function reads what the
/// function left for it. Such values stay in memory, and calls pass where they are.
std::vector<char> values_between_calls(const Graph& graph);

/// Whether a call costs nothing to speak of beside the function. It stores and loads the function's results
/// and what the caller holds in registers: some twenty instructions, and a few for each element that is
/// passed; fewer for each of the `between` elements that stay in memory. Measured: docs/design/functions.md.
inline bool worth_calling(std::int64_t length, std::int64_t passed, std::int64_t between = 0) {
  constexpr std::int64_t shortest = 100, passing = 32, staying = 1;
  return length >= std::max(shortest, passing * passed + staying * between);
}

}  // namespace apsis::detail
