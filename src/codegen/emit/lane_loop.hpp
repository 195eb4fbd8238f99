#pragma once

// Moving elements of some lanes of a packet: lane by lane where they are few, as when one lane ends and the
// next takes its slot, else all at once, which reads and writes each row of the packet once.

#include "codegen/builder/builder.hpp"

namespace apsis::detail {

/// A loop over the lanes whose bits are set in a scalar I64, from the lowest.
class LaneLoop {
 public:
  LaneLoop(Builder& b, Value bits);
  /// The current lane: a scalar I64.
  Value lane() const { return lane_; }
  /// Continues after the loop.
  void close();

 private:
  Builder& b_;
  Value bits_, lane_;
  Block head_, after_;
};

/// Writes `one(lane)` in a loop over the lanes of `mask`, and `all()`; which of them runs is decided by how
/// many lanes there are.
template <class One, class All>
void for_lanes(Builder& b, Value mask, One&& one, All&& all) {
  const int lanes = b.lanes_of(mask);
  const Value bits = b.mask_bits(mask);
  const Block few = b.make_block("few_lanes"), many = b.make_block("many_lanes"),
              after = b.make_block("moved");
  b.set_lanes(1);
  b.branch(b.compare(Compare::Le, b.population_count(bits), b.index(lanes / 4)), few, many, Likely::True);
  b.set_position(few);
  LaneLoop loop(b, bits);
  one(loop.lane());
  loop.close();
  b.jump(after);
  b.set_position(many);
  all();
  b.jump(after);
  b.set_position(after);
}

}  // namespace apsis::detail
