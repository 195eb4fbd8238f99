#pragma once

// Reads and writes of values at their places, for a number of lanes: 1, or that of a packet, of which a mask
// says which are active. Nothing that outlives the code is written in lanes at rest: see target.hpp.

#include "codegen/emit/lowering.hpp"
#include "codegen/emit/target.hpp"
#include "codegen/plan/schedule.hpp"

namespace apsis::detail {

using Values = std::vector<Value>;

class PlaceAccess {
 public:
  /// `mask`: which lanes are active; no handle = all.
  PlaceAccess(Lowering& lowering, int lanes, Value mask)
      : lowering_(lowering), b_(lowering.b), lanes_(lanes), mask_(mask) {}

  Lowering& lowering() { return lowering_; }
  Builder& b() { return b_; }
  int lanes() const { return lanes_; }
  Value mask() const { return mask_; }
  /// The lanes that are active from here on.
  void set_mask(Value mask) { mask_ = mask; }

  bool in_registers(const Aval& aval) const {
    return detail::in_registers(aval, lowering_.options().register_limit);
  }
  /// How many copies of each element a place has: 1 when all lanes share it.
  int lanes_of(const Location& place) const;
  /// From one element to the next.
  static std::int64_t bytes_of(const Place& place, Dtype dtype) {
    return static_cast<std::int64_t>(item_size(dtype)) * (place.apart.handle ? 1 : place.lanes);
  }

  /// A place's elements as values; memory is loaded.
  Values registers(const Place& place, const Aval& aval);
  /// The elements of one place in strided memory; registers are stored to a new buffer.
  Place in_memory(const Place& place, const Aval& aval);
  /// The same in row-major order without gaps.
  Place contiguous(const Place& place, const Aval& aval);
  /// The elements of one lane of a packet (a scalar I64): in memory with gaps where lanes are neighbours.
  Place of_lane(const Place& place, const Aval& aval, Value lane);

  /// New memory for a value, with `lanes` copies of each element.
  Destination allocate(const Aval& aval, int lanes);
  /// The same in memory that is there and begins at `base`, so many elements further on.
  Destination allocate_in(const BufferOwner& memory, Pointer base, std::int64_t offset, const Aval& aval,
                          int lanes);
  /// Whether somebody reads the place's elements of active lanes at most.
  bool is_own(const Location& place) const { return place.kept.handle == mask_.handle; }
  /// Whether an array that is used for the last time may be updated where it is.
  bool may_update(const Place& place) const {
    return place.exclusive() && place.view.is_contiguous() && (place.lanes > 1 || is_own(place));
  }
  /// To write in a place: one that may be updated, or whose contents nobody needs.
  Target update(const Place& place) const;
  /// The same of one that is our own.
  Destination overwrite(const Place& place) const;
  /// The same of one lane, which must be active.
  Target of_lane(const Target& target, const Aval& aval, Value lane);

  /// Writes all elements of `from` to `to`.
  void copy(const Place& from, const Aval& aval, const Target& to);
  /// The same, where `from` may be an input that was given up and lies under `to`.
  void copy_given(const Place& from, const Aval& aval, const Destination& to);

 protected:
  Lowering& lowering_;
  Builder& b_;
  int lanes_;
  Value mask_;

 private:
  void mark_unwritten(const Place& place, const Aval& aval);
};

}  // namespace apsis::detail
