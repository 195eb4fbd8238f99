#pragma once

// What must be kept of a program so that its linear part can be run later: the smallest such set of values.

#include <limits>

#include "ir/graph.hpp"

namespace apsis::detail {

/// By value: which are made of the inputs marked; an input that is counts as made of itself.
std::vector<char> made_of(const Graph& graph, const std::vector<char>& inputs);

struct Cut {
  std::vector<ValueId> values;
  std::int64_t bytes = 0;
};
/// The values of fewest bytes, the nearest to the inputs `given` among them, from which all that the linear
/// equations and the outputs read of what is made of these inputs follows: a minimum vertex cut. `linear`
/// marks the linear values, `bytes` says what it takes to keep each; `never_kept` those that cannot be.
/// `work`: what it takes to compute each again, in bytes that would rather be kept; empty: nothing.
Cut smallest_cut(const Graph& graph, const std::vector<char>& linear, const std::vector<char>& given,
                 std::span<const std::int64_t> bytes, std::span<const std::int64_t> work = {});

/// What it takes to compute each value again, in bytes that are written and read in that time: for products.
/// (A multiply-add of two vectors takes about a thirtieth of the time that writing and reading one does.)
std::vector<std::int64_t> work_of_values(const Graph& graph);

constexpr std::int64_t never_kept = std::numeric_limits<std::int64_t>::max() / 4;

/// How many iterations a loop of unknown length is taken to have where what it keeps is compared with what
/// would be kept in its place.
constexpr std::int64_t nominal_iterations = 64;

/// The bytes of each value. A list counts as that of a loop of nominal length (of its own where that is
/// known, of its bound where that is less), and as no less than 2 KB, so that small states are rather
/// computed again; a list of lists as so many. But only if a loop of this graph or of a function called makes
/// it, or it is an input: others, those of branches and of lanes, are never kept.
std::vector<std::int64_t> bytes_of_values(const Graph& graph);

}  // namespace apsis::detail
