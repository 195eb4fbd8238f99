#pragma once

#include <vector>

#include "apsis/core/op.hpp"

namespace apsis::detail {

// The kinds beyond those that ListKind names: four bits count the levels of lanes, and four the lists within
// a list. Lanes are outside: a list per lane may be one of lists, the entries of a list are never lists per
// lane.
inline int lane_bits(ListKind list) { return static_cast<int>(list) & 15; }

/// Lists of lanes within lanes have one level more for each: the first axis of the shape counts the outermost
/// lanes.
inline bool of_lanes(ListKind list) { return lane_bits(list) >= static_cast<int>(ListKind::PerLane); }
/// How many levels of lanes: the first axes of the shape count them.
inline int lane_levels(ListKind list) {
  return of_lanes(list) ? lane_bits(list) - static_cast<int>(ListKind::One) : 0;
}
/// With lanes around it, and of one lane. What is no list stays none.
inline ListKind with_lanes(ListKind list) {
  return list == ListKind::None ? list : static_cast<ListKind>(static_cast<int>(list) + 1);
}
inline ListKind without_lanes(ListKind list) {
  return of_lanes(list) ? static_cast<ListKind>(static_cast<int>(list) - 1) : list;
}

/// How many lists are within each other: 1 for one of arrays, 0 for what is no list.
inline int list_depth(ListKind list) {
  return list == ListKind::None ? 0 : (static_cast<int>(list) >> 4) + 1;
}
/// A list of such values, and the entries of a list that is not of lanes.
inline ListKind listed(ListKind list) {
  return list == ListKind::None ? ListKind::One : static_cast<ListKind>(static_cast<int>(list) + 16);
}
inline ListKind entry_kind(ListKind list) {
  return list_depth(list) > 1 ? static_cast<ListKind>(static_cast<int>(list) - 16) : ListKind::None;
}

/// A list value: one array an entry, or one list; for a list per lane, one list a lane.
struct ListNode : Node {
  std::vector<Array> entries;
  explicit ListNode(Aval aval_) : Node(NodeKind::List, static_cast<Aval&&>(aval_)) {}
};

}  // namespace apsis::detail
