#pragma once

// Lanes that keep step: one that has ended keeps its carry. Of a buffer that an iteration updates in part,
// the part is then what must be left alone, not the buffer chosen anew.

#include "control/common/regions.hpp"

namespace apsis::detail {

/// A loop body with the updates that it makes of its carry, or of parts of it, only where a lane goes on.
struct MaskedUpdates {
  /// With `in_part` false no carry is found to be updated: all are chosen anew.
  MaskedUpdates(const Graph& body, std::size_t consts, std::size_t carries, bool in_part);
  /// Carries that come back as what they were but for small parts, by dynamic_update_slice or scatter, in
  /// loops, branches and calls within too.
  std::vector<bool> updated;
  /// (going: bool[], the inputs…, the updated carries…) → outputs. The updated carries are those from which
  /// the ones that come back are made; what else reads them reads the input.
  GraphRef body;
};

}  // namespace apsis::detail
