#pragma once

#include <vector>

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// A list value: one array an entry; or, for a list per lane, one list a lane.
struct ListNode : Node {
  std::vector<Array> entries;
  explicit ListNode(Aval aval_) : Node(NodeKind::List, static_cast<Aval&&>(aval_)) {}
};

}  // namespace apsis::detail
