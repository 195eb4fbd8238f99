#pragma once

// Products of a matrix, stored row by row, with vectors: each result element is an ordered sum along a row.
// Long rows are summed in the chains of ops/dot_order.hpp, which are the lanes of a vector. Short ones are
// one chain each: to have neighbouring results in one vector, blocks of the matrix are transposed in
// registers as they are read.

#include <optional>

#include "codegen/emit/loop_nest.hpp"

namespace apsis::detail {

/// result[…, i] = Σ_k matrix[…, i, k] · vector[…, k].
struct RowContraction {
  Shape shape;            // of the results but for their last axis
  Access matrix, vector;  // at i = k = 0, as views of `shape`
  Sink result;
  std::int64_t rows, columns;  // the extents of i and k
  std::int64_t row_stride, vector_stride,
      result_stride;  // in elements, of matrix and result along i, of the vector along k (1 for long rows)
};

/// The loops over the results, `block` rows at a time, from here to `close`.
class RowBlocks {
 public:
  RowBlocks(Builder& b, const RowContraction& c, std::int64_t block);
  void close();
  ConstPointer matrix, vector;  // at the first row of the block
  Pointer result;

 private:
  LoopNest nest_;
  std::optional<CountedLoop> rows_;
};

/// Whether this can be done for so many rows and columns, with vectors of `width` elements.
bool knows_row_contraction(Dtype dtype, std::int64_t rows, std::int64_t columns, int width);

/// Writes the loops.
void write_row_contraction(Builder& b, const RowContraction& c, int width);
/// Those of rows of at least dot_sequential_below elements.
void write_row_chains(Builder& b, const RowContraction& c);

}  // namespace apsis::detail
