#pragma once

// Takes apart the region of a map_lanes, so that a lane of a packet can be replaced when its loop ends: what
// all lanes share, what a lane computes before its loop, the loop, and what it computes after.

#include <span>
#include <vector>

#include "ir/copy.hpp"

namespace apsis::detail {

struct LaneSplit {
  GraphRef region;            // calls put in place
  std::vector<char> varying;  // by value of the region: whether it is made of what lanes differ in
  // The loop with lane-dependent trip count, if the region has one to refill; of `region`. A scan reads lists
  // of the lanes, which say how the packet that made them was refilled.
  const Eqn* loop = nullptr;
  bool lists_fit = true;    // all lists that come into the region or leave it are the loop's
  std::vector<char> slots;  // by operand of the loop: whether each lane of a packet has its own
  GraphPart shared;         // → shared_values
  std::vector<ValueId> shared_values;
  GraphPart before;  // → the loop's operands that are slots
  GraphPart after;  // → the region's outputs; it reads the loop's results, and computes again what it needs
                    // from before
};

/// With `refill` false no loop is singled out: lanes run their whole region.
LaneSplit split_lanes(const Graph& region, std::span<const char> mapped_inputs, bool refill);

}  // namespace apsis::detail
