#pragma once

// What code generation asks about a graph before it writes it.

#include <span>
#include <vector>

#include "ir/graph.hpp"

namespace apsis::detail {

/// Whether an equation reads a value.
bool is_read(const Graph& graph, ValueId value);

/// Which outputs differ from lane to lane, given which inputs do.
std::vector<char> varying_outputs(const Graph& graph, std::span<const char> inputs);

/// The same of an equation's results.
std::vector<char> varying_results(const Graph& graph, const Eqn& eqn, std::span<const char> operands);

/// For a while or scan equation: which carries differ from lane to lane, at the start or after some trip.
/// `condition` receives whether lanes leave the loop after different numbers of trips.
std::vector<char> varying_carries(const Eqn& eqn, std::span<const char> operands, bool& condition);

/// How a loop body treats a carried array in memory.
enum class CarryUse : std::uint8_t {
  Unchanged,  // the output is the input
  InPlace,    // the input, updated in part: slices are written to it
  Replaced    // made anew
};
/// The operand of `eqn` that its result `result` may be an update of; -1 when it is made anew.
std::int64_t updated_operand(const Eqn& eqn, std::uint32_t result);

CarryUse carry_use(const Graph& body, ValueId input, ValueId output);

/// Whether a graph reads and updates an array, one of its inputs, in slices alone, so that it does not matter
/// how the array lies in memory. `output` is the only output that may be the array, as updated; -1: none.
bool only_sliced(const Graph& graph, ValueId input, std::int64_t output, std::int64_t register_limit);

/// The same of an equation that updates: what it does to the operand that its result is an update of.
CarryUse loop_carry_use(const Eqn& eqn, std::uint32_t result);

}  // namespace apsis::detail
