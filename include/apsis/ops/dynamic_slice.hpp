#pragma once

// Slices that begin where values say, which may be traced: the sizes are fixed, the place is not. Starts are
// integers, and negative ones count from the end; a slice that would reach over an end is moved inside, both
// when it is read and when it is written. As in jax.lax.

#include <initializer_list>
#include <span>

#include "apsis/core/array.hpp"

namespace apsis {

/// The part of `sizes` that begins at `starts`, a scalar for each axis. Throws unless there is a start and a
/// size for each axis, none larger than the axis.
Array dynamic_slice(const Array& x, std::span<const Array> starts, const Shape& sizes, Loc loc = Loc::here());
Array dynamic_slice(const Array& x, std::initializer_list<Array> starts, const Shape& sizes,
                    Loc loc = Loc::here());
/// The `size` entries of an axis from `start` on.
Array dynamic_slice_in_dim(const Array& x, const Array& start, std::int64_t size, int axis = 0,
                           Loc loc = Loc::here());
/// The entry of an axis at `index`; the axis stays with size 1, or goes if not `keepdims`.
Array dynamic_index_in_dim(const Array& x, const Array& index, int axis = 0, bool keepdims = true,
                           Loc loc = Loc::here());

/// x with the part that begins at `starts` replaced by `update`, which has as many axes, none longer. It
/// converts to x's dtype; floating values are refused by integers and booleans.
Array dynamic_update_slice(const Array& x, const Array& update, std::span<const Array> starts,
                           Loc loc = Loc::here());
Array dynamic_update_slice(const Array& x, const Array& update, std::initializer_list<Array> starts,
                           Loc loc = Loc::here());
/// x with the entries of an axis from `start` on replaced, as many as `update` has.
Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start, int axis = 0,
                                  Loc loc = Loc::here());
/// x with the entry of an axis at `index` replaced by `update`, which has the axis with size 1, or lacks it.
Array dynamic_update_index_in_dim(const Array& x, const Array& update, const Array& index, int axis = 0,
                                  Loc loc = Loc::here());

}  // namespace apsis
