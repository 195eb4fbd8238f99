#pragma once

// Arrays that are updated in part, so that their memory may be used again.

#include "ir/graph.hpp"
#include "ir/loop.hpp"

namespace apsis::detail {

/// How a loop body treats a carried array in memory.
enum class CarryUse : std::uint8_t {
  Unchanged,  // the output is the input
  InPlace,    // the input, updated in part: slices are written to it
  Replaced    // made anew
};
CarryUse carry_use(const Graph& body, ValueId input, ValueId output);

/// The operand of `eqn` that its result `result` may be an update of; -1 when it is made anew.
std::int64_t updated_operand(const Eqn& eqn, std::uint32_t result);

/// Whether the result may be a view of the first operand: nothing is copied.
inline bool may_be_view(const Eqn& e) {
  return e.op->kind == OpKind::View || (e.op->starts >= 0 && e.op->updates < 0);
}

/// The same of an equation that updates: what it does to the operand that its result is an update of.
CarryUse loop_carry_use(const Eqn& eqn, std::uint32_t result);

/// Whether a graph reads and updates an array, one of its inputs, in slices alone, so that it does not matter
/// how the array lies in memory. `output` is the only output that may be the array, as updated; -1: none.
bool only_sliced(const Graph& graph, ValueId input, std::int64_t output, std::int64_t register_limit);
/// The same of what a loop does with one of its operands; false for its xs.
bool loop_only_slices(const Loop& loop, std::size_t operand, std::int64_t register_limit);

}  // namespace apsis::detail
