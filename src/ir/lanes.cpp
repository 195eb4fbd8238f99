#include "ir/lanes.hpp"

#include <algorithm>

#include "ir/graph.hpp"

namespace apsis::detail {
namespace {
thread_local StagedIn* innermost = nullptr;
}

bool LaneAxes::contains(std::int64_t axis) const {
  return std::find(axes_, axes_ + count_, axis) != axes_ + count_;
}

LaneAxes LaneAxes::within(int axis) const {
  LaneAxes whole;
  if (count_ == limit) return whole;
  whole.push_back(axis);
  for (std::size_t i = 0; i < count_; ++i) whole.push_back(axes_[i] + (axes_[i] >= axis));
  return whole;
}

StagedIn::StagedIn(std::uint64_t tag, GraphBuilder& builder)
    : tag_(tag), builder_(builder), outer_(innermost) {
  innermost = this;
}
// The traces of a linearization end in another order than they began in.
StagedIn::~StagedIn() {
  StagedIn** at = &innermost;
  while (*at != this) at = &(*at)->outer_;
  *at = outer_;
}

void note_lanes(const Array& a, const LaneAxes& lanes) {
  if (lanes.empty() || !is_tracer(a) || a.aval().is_list()) return;
  // Some rewritings put something of another shape in the place of a value.
  for (std::size_t i = 0; i < lanes.size(); ++i)
    if (lanes[i] >= a.ndim()) return;
  switch (a.node()->kind) {
    case NodeKind::Jvp:
    case NodeKind::Linearize: {
      const auto& dual = *static_cast<const DualNode*>(a.node());
      note_lanes(dual.primal, lanes);
      note_lanes(dual.tangent, lanes);
      break;
    }
    case NodeKind::Batch: {
      const auto& batch = *static_cast<const BatchNode*>(a.node());
      note_lanes(batch.value, lanes.within(batch.axis));
      break;
    }
    case NodeKind::Stage: {
      const auto& value = *static_cast<const StageNode*>(a.node());
      for (StagedIn* s = innermost; s; s = s->outer_)
        if (s->tag_ == value.tag) return s->builder_.set_lanes(value.id, lanes);
      break;
    }
    default:
      break;
  }
}

}  // namespace apsis::detail
