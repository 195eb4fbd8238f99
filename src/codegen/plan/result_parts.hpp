#pragma once

// Arrays that are made of others, one part each: what makes a part may write it where the whole is to be.

#include <optional>
#include <vector>

#include "ir/graph.hpp"
#include "ir/view.hpp"

namespace apsis::detail {

/// Whether the equation takes the elements of its operand in their order.
bool is_reshape(const Graph& graph, const Eqn& e);
/// Concatenations, and complex numbers of real and imaginary parts.
bool is_made_of_parts(const Eqn& e);
/// Where each operand is in a result of this view.
std::vector<View> parts_of(const Graph& graph, const Eqn& e, const View& whole);
/// The value of a loop over elements that operand `k` has the elements of, if the loop can write them well at
/// `part`, the operand's place; `part` is then the value's.
std::optional<ValueId> made_for_part(const Graph& graph, const Eqn& e, std::size_t k, View& part);

}  // namespace apsis::detail
