#pragma once

// Gather and scatter by dimension numbers, as in jax.lax: what indexing (index.hpp) is made of, for whoever
// has such numbers already. Everybody else writes x(i, j), x.at(i).set(v) or take.
//
//   // Rows 2 and 0 of a matrix: x(array({2, 0})).
//   Array rows = gather(x, array({{2}, {0}}), {.offset_dims = {1}, .collapsed_slice_dims = {0},
//   .start_index_map = {0}},
//                       {1, 4});

#include "apsis/ops/index.hpp"

namespace apsis {

/// Which axes mean what. The last axis of the indices holds index vectors: entry k is where the slice starts
/// along axis start_index_map[k] of x. The result has the other axes of the indices, in their order, and
/// those of the slices. (jax.lax.GatherDimensionNumbers)
struct GatherDimensions {
  Dims offset_dims;                 ///< axes of the result that slices lie along, ascending
  Dims collapsed_slice_dims;        ///< axes of slices, of size 1, that the result does not have, ascending
  Dims start_index_map;             ///< an axis of x for each entry of an index vector
  Dims operand_batching_dims = {};  ///< axes of x, along which slices start at their place among the indices
  Dims start_indices_batching_dims = {};  ///< the axes of the indices that these belong to
};
/// A slice of these sizes of x for each index vector. Indices are integers, counted from the front. A slice
/// that would reach beyond x is moved inside with `IndexMode::Clip`, else it is NaN (the least signed, the
/// greatest unsigned integer, true). Throws for numbers that do not fit. (jax.lax.gather)
Array gather(const Array& x, const Array& indices, const GatherDimensions& dimensions,
             const Shape& slice_sizes, IndexMode mode = IndexMode::Fill, Loc loc = Loc::here());

/// Which axes mean what: those of a gather whose result is the updates. (jax.lax.ScatterDimensionNumbers)
struct ScatterDimensions {
  Dims update_window_dims;    ///< axes of the updates that windows lie along, ascending
  Dims inserted_window_dims;  ///< axes of x of windows of size 1 that the updates do not have, ascending
  Dims scatter_dims_to_operand_dims;  ///< an axis of x for each entry of an index vector
  Dims operand_batching_dims = {};
  Dims scatter_indices_batching_dims = {};
};
/// How updates meet what is there.
enum class ScatterUpdate : std::uint8_t { Set, Add, Multiply, Min, Max };
/// Options of `scatter`.
struct ScatterOptions {
  ScatterUpdate update = ScatterUpdate::Set;
  IndexMode mode = IndexMode::Drop;  ///< windows that reach beyond x are dropped, or moved inside (Clip)
  bool unique_indices = false;       ///< a promise that no element is met twice
};
/// x with the windows of `updates` written to where their index vectors point; updates take x's dtype. Of
/// several for one element `Set` keeps the last, the others combine all. Throws for numbers that do not fit.
/// (jax.lax.scatter, scatter_add, scatter_mul, scatter_min, scatter_max)
Array scatter(const Array& x, const Array& indices, const Array& updates, const ScatterDimensions& dimensions,
              const ScatterOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis
