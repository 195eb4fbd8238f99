#pragma once

#include "control/common/regions.hpp"

namespace apsis::detail {

/// What reverse mode may keep of a loop: no more states than `states`, no more bytes of them than `bytes`; 0:
/// no bound, for one of the two. `length`: how many iterations the loop makes, or -1 if that is not known
/// beforehand.
struct Keeping {
  std::int64_t states = 0, bytes = 0, length = -1;
  bool bounded() const { return states > 0 || bytes > 0; }
  static void each(auto& self, auto&& visit) {
    visit("states", self.states);
    visit("bytes", self.bytes);
    visit("length", self.length);
  }
};

/// checkpointed_while: a while loop without ys that reverse mode goes through in bounded memory. Operands and
/// results are those of `loop`; `program` is that loop, bound.
struct CheckpointedParams {
  GraphRef program;
  WhileParams loop;
  Keeping keep;
  static void each(auto& self, auto&& visit) {
    Keeping::each(self.keep, visit);
    visit("program", self.program);
    WhileParams::each(self.loop, visit);
  }
};

extern const Op checkpointed_while_op;

std::vector<Array> checkpointed_while(const WhileParams& loop, const Keeping& keep,
                                      std::span<const Array> operands, Loc loc = {});

}  // namespace apsis::detail
