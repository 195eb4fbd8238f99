#pragma once

#include "codegen/builder/builder.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {

/// The element of an array that indices name along its axes, each clamped: one for each lane that the builder
/// has when this is made.
class ElementAt {
 public:
  ElementAt(Builder& b, OutOfBounds mode) : b_(b), mode_(mode), lanes_(b.lanes()), element_(constant(0)) {}

  /// Along an axis with these greatest index and stride.
  void add(Value i, std::int64_t greatest, std::int64_t stride) {
    b_.set_lanes(lanes_);
    if (b_.lanes_of(i) < lanes_) i = b_.splat(i);
    const Value least = constant(0), most = constant(greatest);
    const Value below = b_.compare(Compare::Lt, i, least), above = b_.compare(Compare::Gt, i, most);
    if (mode_ != OutOfBounds::Clip) {
      const Value here = b_.bit_not(b_.bit_or(below, above));
      inside_ = inside_.handle ? b_.bit_and(inside_, here) : here;
    }
    i = b_.select(below, least, b_.select(above, most, i));
    element_ = b_.add(element_, b_.mul(i, constant(stride)));
  }

  /// Counted in elements of memory from the first one.
  Value element() const { return element_; }
  /// The same of an array with `copies` of each element side by side, one a lane.
  Value element_of_lane(int copies) const {
    if (copies == 1) return element_;
    b_.set_lanes(lanes_);
    return b_.add(b_.mul(element_, constant(copies)), b_.lane_numbers());
  }
  /// Whether all indices are in bounds; no handle: it does not matter.
  Value inside() const { return inside_; }

 private:
  Value constant(std::int64_t value) const {
    return b_.constant(Dtype::I64, static_cast<std::uint64_t>(value));
  }

  Builder& b_;
  OutOfBounds mode_;
  int lanes_;
  Value element_, inside_;
};

}  // namespace apsis::detail
