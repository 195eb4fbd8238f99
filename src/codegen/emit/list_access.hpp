#pragma once

// Reading and writing lists inside loops. A loop keeps the address of the current record and the number of
// records left in the chunk in registers, and calls the library only where a chunk ends.

#include "codegen/emit/region.hpp"

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
  /// A loop that is left and entered again keeps its place in the list's header: to be called before each
  /// `open`, and after the loop.
  void resume();
  void suspend();
  void open(Block before);
  /// In the iteration: makes room, after which `field` is valid. `active`: the lanes that the record is for.
  void next();
  Place field(std::size_t i, Value active) const;
  void link(Block latch);
  /// After the loop.
  void close();
  /// The same of a loop that was suspended.
  void close_suspended();
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
  Pointer header_, start_, at_, current_;
  Value start_room_, room_, left_;
  Pointer next_;
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
  /// A loop that is left and entered again keeps its place in memory: as for ListWriter.
  void resume();
  void suspend();
  void open(Block before);
  void next();
  Place field(const Place& list, const Aval& aval) const;
  void link(Block latch);

 private:
  Builder& b_;
  ConstPointer list_;
  Pointer cursor_, start_, at_, current_, next_;
  Value length_, step_, start_left_, left_, rest_;
  bool reads_ = false;
};

}  // namespace apsis::detail
