#pragma once

// Columns side by side in memory, and vectors of each of them in registers: the parts of complex numbers, or
// the components of points.

#include <cstddef>
#include <span>
#include <vector>

#include "codegen/builder/builder.hpp"
#include "codegen/plan/result_parts.hpp"

namespace apsis::detail {

/// The vectors that memory consists of in which these columns take turns, as many as there are columns.
std::vector<Value> interleaved(Builder& b, std::vector<Value> columns);

/// The columns that take turns in memory, of which `wanted` says which are asked for, of vectors of it: one
/// begins at each of `starts`.
std::vector<Value> taken_apart(Builder& b, std::vector<Value> vectors, std::span<const std::int64_t> starts,
                               std::span<const char> wanted);

/// A view of memory, as far as it matters for what lies beside it.
struct ColumnView {
  void* base;  // null: it is never together with others
  int dtype;
  std::span<const std::int64_t> strides;
  std::int64_t offset;
};

/// Views whose elements take turns in memory.
struct ColumnGroup {
  std::int64_t first = 0;                         // the least offset
  std::vector<std::vector<std::size_t>> members;  // by column, up to the last one: the views; maybe none

  /// Whether they leave no gaps, where the elements of each are `stride` apart.
  bool fills(std::int64_t stride) const;
};

/// Groups of views that have their elements some places apart along the axis, and, in between, one another's.
std::vector<ColumnGroup> column_groups(std::span<const ColumnView> views, std::size_t axis);

}  // namespace apsis::detail
