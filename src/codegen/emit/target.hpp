#pragma once

// Memory that code may write. In a packet, lanes at rest keep what somebody may still read of theirs: what is
// written elsewhere than in memory of the code's own is written under the mask. A Place can only be read;
// PlaceAccess alone makes these of it, and knows the mask, so that nothing is written without it.

#include "codegen/emit/loop_nest.hpp"
#include "codegen/plan/place.hpp"

namespace apsis::detail {

class PlaceAccess;

/// A place whose lanes at rest are left as they are.
class Target {
 public:
  /// The same memory, to be read.
  const Place& place() const& { return place_; }
  Place place() && { return std::move(place_); }
  /// For loops over elements. Lanes must be neighbours.
  Sink sink(Dtype dtype) const { return {place_.view, base_, dtype, place_.lanes, mask_}; }
  /// The part that begins `bytes` further on: a scalar I64, or a number.
  template <class Bytes>
  Target part(Builder& b, View view, Bytes bytes) const {
    Target t = *this;
    t.base_ = b.offset(base_, bytes);
    t.place_.base = t.base_;
    t.place_.view = std::move(view);
    return t;
  }
  /// Stores `v`, an element of each lane, at `bytes` from the base; only where `where` holds, if it is given.
  void store(Builder& b, std::int64_t bytes, Value v, Value where = {}) const {
    const Value mask = both(b, where);
    mask.handle ? b.masked_store(b.offset(base_, bytes), v, mask) : b.store(b.offset(base_, bytes), v);
  }
  /// The same, in each lane at its element of `elements` from there.
  void scatter(Builder& b, std::int64_t bytes, Value elements, Value v, Value where = {}) const {
    const Value mask = both(b, where);
    const Pointer at = b.offset(base_, bytes);
    mask.handle ? b.scatter(at, elements, v, mask) : b.scatter(at, elements, v);
  }

 protected:
  friend PlaceAccess;
  Target(Place place, Value mask) : place_(std::move(place)), base_{place_.base.handle}, mask_(mask) {}
  Value both(Builder& b, Value where) const {
    if (!where.handle || !mask_.handle) return where.handle ? where : mask_;
    b.set_lanes(b.lanes_of(mask_));
    return b.bit_and(mask_, b.lanes_of(where) < b.lanes_of(mask_) ? b.splat(where) : where);
  }

  Place place_;
  Pointer base_;
  Value mask_;  // no handle: all lanes may be written
};

/// One that nobody reads in lanes at rest: all lanes are written.
class Destination : public Target {
 public:
  /// The address, for code that knows nothing of lanes at rest.
  Pointer base() const { return base_; }
  /// The address of the first element.
  Pointer first(Builder& b, std::int64_t bytes_of_element) const {
    return b.offset(base_, place_.view.offset * bytes_of_element);
  }

 private:
  friend PlaceAccess;
  explicit Destination(Place place) : Target(std::move(place), {}) {}
};

}  // namespace apsis::detail
