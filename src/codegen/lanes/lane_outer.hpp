#pragma once

// Sums of outer products in a packet's replay: the vectors of some iterations are kept, and added up when
// there is no more room for others, or when lanes are about to leave or enter.

#include "codegen/lanes/lane_slots.hpp"

namespace apsis::detail {

class LaneOuterSums {
 public:
  LaneOuterSums(LaneChunk& chunk, const LaneSlots& slots, Region& homes);
  /// Where this iteration's vectors go.
  std::vector<Place> vectors(Value active);
  /// At the end of the iteration.
  void keep();
  /// Adds up what is kept.
  void flush();

 private:
  Function write_sums();

  LaneChunk& chunk_;
  Builder& b_;
  const LaneSlots& slots_;
  Place kept_;
  Pointer count_;  // how many iterations are kept
  std::vector<std::int64_t> offsets_;
  std::int64_t stride_ = 0, most_ = 0;
  Function add_;
};

}  // namespace apsis::detail
