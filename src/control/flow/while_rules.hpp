#pragma once

// The rules that `while` and `checkpointed_while` share: they differ in how a loop is bound, and in what they
// keep of it for reverse mode.

#include <functional>

#include "control/flow/loop_rules.hpp"

namespace apsis::detail {

/// Binds a loop on these operands.
using BindWhile = std::function<std::vector<Array>(const WhileParams&, std::span<const Array>)>;

void jvp_while(const WhileParams& loop, const BindWhile& bind_loop, const JvpRule& r);
void jet_while(const WhileParams& loop, const BindWhile& bind_loop, const JetRule& r);

/// Runs a loop in a way that its tangents can go back on, and binds what does that with `tangents` under
/// `trace`. `tangent`: (inputs of the body…, tangents…) → tangents of the carry. Returns the results of the
/// latter.
using TapeWhile = std::function<std::vector<Array>(
    const WhileParams& loop, const Graph& tangent, std::span<const Array> operands,
    const LoopTangents& tangents, Trace* trace, std::vector<Array>& results)>;

/// A loop that few numbers move keeps no tape, see tangent_columns.hpp.
void linearize_while(const Op& op, const WhileParams& loop, const BindWhile& bind_loop, const TapeWhile& tape,
                     const LinearizeRule& r);
void batch_while(const Op& op, const WhileParams& loop, const BindWhile& bind_loop, const BatchRule& r);

}  // namespace apsis::detail
