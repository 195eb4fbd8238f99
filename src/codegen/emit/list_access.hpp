#pragma once

// Reading and writing lists inside loops. A loop keeps the address of the current record and the number of
// records left in the chunk in registers, and calls the library only where a chunk ends.

#include "codegen/emit/place_access.hpp"

namespace apsis::detail {

/// Appends one record an iteration; or, when the length is known, fills the list from either end. Records
/// without values are only counted.
class ListWriter {
 public:
  /// `values`: what one record holds, each element `lanes` times. Lists come first: a ListValue, and in
  /// packets the length in each lane.
  ListWriter(Lowering& lowering, std::span<const Aval> values, int lanes = 1);
  /// Before the loop. For lists of known length the records are made at once.
  void make();
  void make(Value length, bool reverse);
  /// After `make`: what loops carry in which records are written.
  void add_variables(std::vector<Variable>& carried) const;
  /// In the iteration: makes room, after which `field` is valid. `active`: the lanes that the record is for.
  void next();
  Place field(std::size_t i, Value active) const;
  /// After the loop.
  void close();
  /// The list of value i. `counts`: where lanes differ in length, the length in each.
  Place list(std::size_t i, Value counts = {}) const;
  /// One of as many entries that is in no record.
  Place counted() const;
  Pointer header() const { return header_; }
  std::int64_t offset(std::size_t i) const { return offsets_[i]; }

 private:
  Lowering& lowering_;
  Builder& b_;
  std::vector<Aval> values_;
  std::vector<std::int64_t> offsets_;
  std::int64_t bytes_ = 0, lists_ = 0;
  int lanes_;
  bool reverse_ = false, fixed_ = false;
  Pointer header_, current_;
  Variable at_, room_;  // the next record, and how many there is room for
  BufferOwner owner_;
};

/// Puts a list into a record of a list of lists, in a field at `value`.
void write_list(Builder& b, const Place& list, const Destination& value);

/// Reads one record an iteration.
class ListReader {
 public:
  ListReader(Lowering& lowering, ConstPointer list, bool reverse);
  ConstPointer list() const { return list_; }
  Value length() const { return length_; }
  /// Without this, nothing but the length is of interest, and the records are not gone through.
  void reads_records() { reads_ = true; }
  /// As for ListWriter.
  void add_variables(std::vector<Variable>& carried) const;
  void next();
  Place field(const Place& list, const Aval& aval) const;

 private:
  Builder& b_;
  ConstPointer list_;
  Pointer cursor_, current_;
  Value length_, step_;
  Variable at_, left_;  // the next record, and how many are left in its chunk
  bool reads_ = false;
};

/// Lists of lanes as a table of lists, out of the tapes of packets.
Place lists_of_lanes(PlaceAccess& access, const Place& tapes, const Aval& aval);
void free_lists_of_lanes(PlaceAccess& access, const Buffer& lists);

}  // namespace apsis::detail
