#pragma once

// Reductions of the entries that belong together, as in jax.ops.

#include "apsis/core/array.hpp"

namespace apsis {

/// Options of segment reductions.
struct SegmentOptions {
  std::int64_t segments = -1;  ///< how many; -1: up to the greatest number, which must be known
};
// The entries of axis 0 of x with the same number in `ids`, combined. Entries whose number is out of bounds
// are left out. Throws unless `ids` is a vector of integers, one an entry. (jax.ops)

/// Sums; 0 of no entries.
Array segment_sum(const Array& x, const Array& ids, const SegmentOptions& options = {},
                  Loc loc = Loc::here());
/// Products; 1 of no entries. No derivative.
Array segment_prod(const Array& x, const Array& ids, const SegmentOptions& options = {},
                   Loc loc = Loc::here());
/// Maxima; -∞, or the least integer, of no entries.
Array segment_max(const Array& x, const Array& ids, const SegmentOptions& options = {},
                  Loc loc = Loc::here());
/// Minima; ∞, or the greatest integer, of no entries.
Array segment_min(const Array& x, const Array& ids, const SegmentOptions& options = {},
                  Loc loc = Loc::here());

}  // namespace apsis
