#pragma once

// What may share a loop over the elements of arrays, and what needs none.

#include "ir/graph.hpp"
#include "passes/analysis/pick.hpp"

namespace apsis::detail {

/// Elements up to which code generation holds an array in registers.
inline constexpr std::int64_t usual_register_limit = 16;
/// True if a value of this kind is held in registers, one a element.
bool in_registers(const Aval& aval, std::int64_t limit);

/// True if the op can be part of a fused loop: elementwise, emitted, on real dtypes; or a pick of elements.
bool fusible(const Graph& graph, const Eqn& eqn);

/// The operands of an op in a fused loop whose elements are those of the loop. Not among them are, as the
/// first ones, the array that elements are picked from or put into, and what a pad reads.
std::span<const ValueId> operands_by_element(const Graph& graph, const Eqn& eqn);

/// True for a pad that a fused loop can read as an array that is not everywhere: nothing goes between
/// elements, and rows are long.
bool pads_around(const Graph& graph, const Eqn& eqn);

/// True for sums, products, extremes, `all` and `any` of elements that are not complex, if there are any.
bool reduces(const Graph& graph, const Eqn& eqn);

/// True for a reduction of a whole array to one element that comes out the same in any order, and if it meets
/// an element twice: a fused loop that goes over the array accumulates it.
bool accumulates(const Graph& graph, const Eqn& eqn);

}  // namespace apsis::detail
