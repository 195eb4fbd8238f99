#pragma once

// Reading and writing lists inside loops. A loop keeps the address of the current record and the number of records left
// in the chunk in registers, and calls the library only where a chunk ends.

#include "codegen/region.hpp"

namespace apsis::detail {

/// Appends one record an iteration; or, when the length is known, fills the list from either end.
class ListWriter {
 public:
  /// `values`: what one record holds, in order.
  ListWriter(Lowering& lowering, std::span<const Aval> values);
  /// Before the loop. For lists of known length the records are made at once.
  void make();
  void make(Value length, bool reverse);
  void open(Block before);
  /// In the iteration: makes room, after which `field` is valid.
  void next();
  Place field(std::size_t i) const;
  void link(Block latch);
  /// After the loop.
  void close();
  /// The list of value i.
  Place list(std::size_t i) const;

 private:
  Lowering& lowering_;
  Builder& b_;
  std::vector<Aval> values_;
  std::vector<std::int64_t> offsets_;
  std::int64_t bytes_ = 0;
  bool reverse_ = false, fixed_ = false;
  Pointer header_, start_, at_, current_;
  Value start_room_, room_, left_;
  Pointer next_;
  BufferRef owner_;
};

/// Reads one record an iteration.
class ListReader {
 public:
  ListReader(Lowering& lowering, Pointer list, bool reverse);
  Pointer list() const { return list_; }
  Value length() const { return length_; }
  void open(Block before);
  void next();
  Place field(const Place& list, const Aval& aval) const;
  void link(Block latch);

 private:
  Builder& b_;
  Pointer list_, cursor_, at_, current_, next_;
  Value length_, step_, left_, rest_;
};

}  // namespace apsis::detail
