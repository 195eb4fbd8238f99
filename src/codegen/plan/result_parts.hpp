#pragma once

// Arrays that are made of others, one part each: what makes a part may write it where the whole is to be.

#include <cstdint>
#include <vector>

#include "ir/graph.hpp"
#include "ir/view.hpp"
#include "passes/analysis/columns.hpp"

namespace apsis::detail {

/// Whether the equation takes the elements of its operand in their order.
bool is_reshape(const Graph& graph, const Eqn& e);
/// Concatenations, and complex numbers of real and imaginary parts.
bool is_made_of_parts(const Eqn& e);
/// Where each operand is in a result of this view.
std::vector<View> parts_of(const Graph& graph, const Eqn& e, const View& whole);
/// A value whose place may be a part of what is made of it.
struct MadePart {
  ValueId value;
  View view;
  bool column = false;  // one of columns side by side: only if one loop makes all of them
};
/// The values of loops over elements, and what lanes make, that operands of the equation have
/// the elements of, if they can be written well at their places in `whole`; and concatenations, with what
/// these are made of. Of columns side by side either all are there or none.
std::vector<MadePart> made_for_parts(const Graph& graph, const Eqn& e, const View& whole);

}  // namespace apsis::detail
