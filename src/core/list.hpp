#pragma once

#include <vector>

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// Lists of lanes within lanes have one level more for each: the first axis of the shape counts the outermost lanes.
inline bool of_lanes(ListKind list) { return list >= ListKind::PerLane; }
/// With lanes around it, and of one lane. What is no list stays none.
inline ListKind with_lanes(ListKind list) {
  return list == ListKind::None ? list : static_cast<ListKind>(static_cast<int>(list) + 1);
}
inline ListKind without_lanes(ListKind list) {
  return of_lanes(list) ? static_cast<ListKind>(static_cast<int>(list) - 1) : list;
}

/// A list value: one array an entry; or, for a list per lane, one list a lane.
struct ListNode : Node {
  std::vector<Array> entries;
  explicit ListNode(Aval aval_) : Node(NodeKind::List, static_cast<Aval&&>(aval_)) {}
};

}  // namespace apsis::detail
