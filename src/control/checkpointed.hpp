#pragma once

#include "control/regions.hpp"

namespace apsis::detail {

/// checkpointed_while: a while loop that reverse mode goes through in bounded memory, keeping `checkpoints` of
/// its states. Operands, results, `cond` and `body` as of a while without ys; `program` is that while. `length`:
/// how many iterations it makes, or -1 if that is not known beforehand. When it is, the first operand of the
/// condition, which does not read it, says which states to keep: `kept_numbers`.
struct CheckpointedParams {
  GraphRef program, cond, body;
  std::int64_t cond_consts = 0, body_consts = 0, carries = 0, max_steps = -1;
  std::int64_t checkpoints = 0, length = -1;
  static void each(auto& self, auto&& visit) {
    visit("cond_consts", self.cond_consts);
    visit("body_consts", self.body_consts);
    visit("carries", self.carries);
    visit("max_steps", self.max_steps);
    visit("checkpoints", self.checkpoints);
    visit("length", self.length);
    visit("program", self.program);
    visit("cond", self.cond);
    visit("body", self.body);
  }
};

extern const Op checkpointed_while_op;

/// The numbers of the states that a loop of known length keeps at first, i64[checkpoints + 1].
Array kept_numbers(std::int64_t length, std::int64_t checkpoints);
/// How many states a loop keeps that may keep `checkpoints`.
std::int64_t states_of(std::int64_t checkpoints, std::int64_t length);
/// The parameters for a while loop on operands of these avals.
Params checkpointed(const WhileParams& loop, std::span<const Aval> operands, std::int64_t checkpoints,
                    std::int64_t length);
/// How many states a number of bytes has room for; at least two.
std::int64_t checkpoints_in(std::int64_t bytes, std::span<const Array> carry);

}  // namespace apsis::detail
