#pragma once

#include <optional>

#include "codegen/emit/fused_loop.hpp"
#include "codegen/emit/lowering.hpp"

namespace apsis::detail {

/// Writes a loop over a large array as parts that threads share, each a range of one axis: elementwise code
/// and reductions, whose bits do not depend on what else the loop computes. `cost`: instructions for an
/// element. Gives what reductions in any order come to; sums are stored. Nothing, and nothing is written,
/// where a part is not worth a thread. Arrays that are given under the results must be so place by place.
std::optional<std::vector<Value>> write_in_parts(Lowering& lowering, const FusedLoop& loop,
                                                 std::int64_t cost);

}  // namespace apsis::detail
