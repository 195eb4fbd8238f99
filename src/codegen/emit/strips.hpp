#pragma once

// Parts of matrices, one after the other: so many rows of so many columns.

#include <array>
#include <optional>

#include "codegen/emit/counted_loop.hpp"
#include "codegen/emit/loop_nest.hpp"

namespace apsis::detail {

/// Loops over all axes of a shape, by `rows` places of the last but one and `columns` of the last one, which
/// are no more than it has. The last part of an axis ends with it: what it shares with the one before it is
/// done twice.
class Strips {
 public:
  Strips(Builder& b, const Shape& shape, std::int64_t rows, std::int64_t columns);
  /// A matrix of the part that the loops are at.
  Access operator()(Access access) const;
  Sink operator()(Sink sink) const;
  Shape shape() const { return {rows_, columns_}; }
  /// Where they are along the columns; no handle: at the start.
  Value column() const;
  void close();

 private:
  template <class F>
  void each_place(const View& view, F&& f) const;
  View part(const View& view) const;
  Pointer moved(ConstPointer base, const View& view, std::int64_t item) const;

  Builder& b_;
  std::int64_t rows_, columns_;
  std::vector<std::optional<CountedLoop>> loops_;  // by axis; nothing: it has one part
};

/// So many rows for strips of `rows`, which tiles of `together` make: as many as fit into part of the first
/// cache where a row is so many bytes, and leave little to be done twice. `once`: nothing is to be, but some
/// may be left over.
std::int64_t rows_of_strip(std::int64_t rows, std::int64_t together, std::int64_t bytes, bool once = false);

}  // namespace apsis::detail
