#pragma once

// Takes apart the region of a map_lanes, so that a lane of a packet can be replaced when its loop ends: what
// all lanes share, what a lane computes before its loop, the loop, and what it computes after.

#include <span>
#include <vector>

#include "ir/regions.hpp"

namespace apsis::detail {

/// The parts of a while or a scan under common names. The condition is null in a scan.
struct LoopParts {
  explicit LoopParts(const Eqn& loop);
  const Graph *cond, *body;
  std::size_t cond_consts, consts, carries;
  std::int64_t max_steps, site;
  bool reverse;
  std::size_t first_carry() const { return cond_consts + consts; }
  /// Of a scan: the operands from here on are read entry by entry.
  std::size_t first_x() const { return first_carry() + carries; }
};

/// A piece of a region as a graph of its own. `inputs` are the values of the region that it reads.
struct LanePart {
  GraphRef graph;
  std::vector<ValueId> inputs;
};

struct LaneSplit {
  GraphRef region;            // calls put in place
  std::vector<char> varying;  // by value of the region: whether it is made of what lanes differ in
  // The loop with lane-dependent trip count, if the region has one to refill; of `region`. A scan reads lists
  // of the lanes, which say how the packet that made them was refilled.
  const Eqn* loop = nullptr;
  bool lists_fit = true;    // all lists that come into the region or leave it are the loop's
  std::vector<char> slots;  // by operand of the loop: whether each lane of a packet has its own
  LanePart shared;          // → shared_values
  std::vector<ValueId> shared_values;
  LanePart before;  // → the loop's operands that are slots
  LanePart after;   // → the region's outputs; it reads the loop's results, and computes again what it needs
                    // from before
};

/// With `refill` false no loop is singled out: lanes run their whole region.
LaneSplit split_lanes(const Graph& region, std::span<const char> mapped_inputs, bool refill);

}  // namespace apsis::detail
