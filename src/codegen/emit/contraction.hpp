#pragma once

// The loops of a contraction: over the results, several of them in flight, around a loop over the contracted
// elements.

#include "codegen/emit/loop_nest.hpp"
#include "codegen/emit/lowering.hpp"
#include "codegen/emit/products.hpp"

namespace apsis::detail {

struct Contraction {
  Shape shape;  // of the result
  Access a, b;  // at k = 0, as views of that shape
  Sink result;
  std::int64_t step_a, step_b, count;  // along k
  Dtype compute;                       // what is added up; the result is rounded from it
  /// Whether b lies in panels: the columns of a tile side by side, row after row. Its view leads to the first
  /// columns of panels.
  bool in_panels = false;

  /// Whether it is added up in the chains of ops/dot_order.hpp.
  bool in_chains() const;
};

/// The tiles of products of this type.
ProductTile tile_for(const Lowering& lowering, Dtype compute);
/// Those that it is made in; of one row: it is not. It is if it has as many rows and columns, and b is in
/// panels.
ProductTile tile_of(const Lowering& lowering, const Contraction& contraction);
/// All of a matrix that is made in tiles, columns by columns. Some of it may be made twice.
void write_tiles(Builder& b, const Contraction& contraction, const ProductTile& tile);

void write_contraction(Lowering& lowering, const Contraction& contraction);
/// The same as a call of a function that all equal ones of the program share: there is one a layer of a
/// network, in each stage of a solver.
void call_contraction(Lowering& lowering, const Contraction& contraction);

}  // namespace apsis::detail
