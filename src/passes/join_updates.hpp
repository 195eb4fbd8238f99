#pragma once

// Arrays that are replaced in large part at fixed places.

#include "ir/graph.hpp"

namespace apsis::detail {

/// An update of half the array or more, at a place that is known, becomes a concatenation of what stays and
/// what is new: `x.at(range(1, {})).add(y)`. Code around it can then be made for each part. Not in regions:
/// loops change what they carry where it is.
GraphRef join_updates(const Graph& graph);

}  // namespace apsis::detail
