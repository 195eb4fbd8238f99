#include "codegen/emit/lane_loop.hpp"

namespace apsis::detail {

LaneLoop::LaneLoop(Builder& b, Value bits) : b_(b) {
  const Block before = b_.position(), lane = b_.make_block("lane");
  head_ = b_.make_block("lanes");
  after_ = b_.make_block("after");
  b_.jump(head_);
  b_.set_position(head_);
  b_.set_lanes(1);
  bits_ = b_.phi(Dtype::I64);
  b_.add_incoming(bits_, bits, before);
  b_.branch(b_.compare(Compare::Ne, bits_, b_.index(0)), lane, after_);
  b_.set_position(lane);
  lane_ = b_.trailing_zeros(bits_);
}

void LaneLoop::close() {
  b_.set_lanes(1);
  const Value rest = b_.bit_and(bits_, b_.sub(bits_, b_.index(1)));
  b_.add_incoming(bits_, rest, b_.position());
  b_.jump(head_);
  b_.set_position(after_);
}

}  // namespace apsis::detail
