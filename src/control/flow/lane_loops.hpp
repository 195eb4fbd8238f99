#pragma once

// How a loop runs whose lanes end at different times: each lane at its own pace, or all in lockstep; and what
// is written otherwise in lanes than elsewhere.

#include "control/flow/loop_rules.hpp"
#include "ir/regions.hpp"

namespace apsis::detail {

/// Products of at most this many multiply-adds are k-ordered in lanes, so that they are part of the lane
/// program: a weight is read once a packet, from the second-level cache still where it is one of a million.
inline constexpr std::int64_t lane_dot_limit = std::int64_t{1} << 20;
/// The region of a map_lanes with its products so.
GraphRef with_lane_products(const GraphRef& region);

/// What an iteration consists of, for one lane, in operations.
struct IterationWork {
  double all = 0;
  /// Of these, in products above the bound of lanes with an array that all lanes share: one product for all
  /// lanes is a matrix product, where each lane alone reads the whole array.
  double shared_products = 0;
};
/// `varying`: which inputs differ from lane to lane. Loops within count one iteration.
IterationWork work_of(const Graph& graph, std::span<const char> varying);

/// Whether the lanes of `loop` keep their own pace: as vmap's options say; left to us, unless more than half
/// of an iteration is shared products. A loop that keeps a tape, or has effects, is never put in lockstep.
/// `varying`: which inputs of the body differ. Notes the choice for `explain`.
bool keeps_own_pace(const WhileParams& loop, MappedAxis axis, std::span<const char> varying);

/// A loop that all lanes leave together, a scan for instance, may run in lanes all the same: as vmap's
/// options say; left to us, if an iteration makes a few elements for each lane, which then stay in registers
/// where whole arrays of them would go through memory. Notes the choice; false: nothing was done. `varying`:
/// which inputs of the body, (constants | carries | …), differ, once all carries that come to differ are
/// marked.
bool batch_in_registers(const Op& op, const Graph& body, const std::vector<bool>& varying, std::size_t consts,
                        std::size_t carries, const BatchRule& r);

}  // namespace apsis::detail
