#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

/// Loops over such an array never read an element after they have written it: the last vector of others
/// overlaps the one before (CountedLoop).
bool divides_into_vectors(const Shape& shape);

/// Whether the op's kernel may write its result over its operand.
bool kernel_overwrites(const Eqn& e);

/// For each output, the input in whose memory it may be made by the code that `compile` writes, both then
/// being one address; -1: in none. No input serves two outputs.
std::vector<std::int32_t> overwritable_inputs(const Graph& graph);

/// Of the body of a loop, whether output i may be made element by element in the memory of input
/// `first_carry` + i, for each carry.
std::vector<char> carries_made_in_place(const Graph& body, std::size_t first_carry, std::size_t carries);

}  // namespace apsis::detail
