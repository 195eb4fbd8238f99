// What a nest of loops reads of arrays that have elements in a part of its shape.

#include <algorithm>

#include "codegen/emit/loop_nest.hpp"

namespace apsis::detail {

bool LoopNest::fills(std::size_t a, std::size_t axis) const {
  return within_[a].empty() || (within_[a][axis].low == 0 && within_[a][axis].high == extents_[axis]);
}

/// Whether a place, or which of some, is in a span.
Value LoopNest::is_within(Value place, Span span) {
  const auto constant = [&](std::int64_t n) {
    return b_.constant(Dtype::I64, static_cast<std::uint64_t>(n));
  };
  return b_.bit_and(b_.compare(Compare::Ge, place, constant(span.low)),
                    b_.compare(Compare::Lt, place, constant(span.high)));
}

Value LoopNest::any_inside() {
  if (reads_ == 0 || !side_by_side_.empty() || phases_ > 1) return {};
  double part = 0;  // of the rows
  Value any;
  b_.set_lanes(1);
  for (std::size_t a = 0; a < reads_; ++a) {
    if (within_[a].empty() || !inside_[a].handle) return {};
    double rows = 1;
    for (std::size_t d = 0; d < extents_.size(); ++d)
      if (static_cast<int>(d) != axis_)
        rows *= static_cast<double>(std::max<std::int64_t>(within_[a][d].high - within_[a][d].low, 0)) /
                static_cast<double>(extents_[d]);
    part += rows;
    any = any.handle ? b_.bit_or(any, inside_[a]) : inside_[a];
  }
  constexpr double most = 0.5;
  return part <= most * static_cast<double>(reads_) ? any : Value{};
}

Value LoopNest::load_within(std::size_t a, Value& inside) {
  const Access& access = accesses_[a];
  const std::int64_t stride = this->stride(a);
  const ConstPointer p = current(a);
  const bool cut = axis_ >= 0 && !fills(a, static_cast<std::size_t>(axis_));
  inside = inside_[a];
  b_.set_lanes(1);
  const Value row = inside.handle ? inside : b_.constant(Dtype::Bool, 1);
  if (cut) {
    Value place = inner_zero_ ? b_.index(0) : inner_;
    if (width_ > 1) {
      const Value first = place, further = lane_places(1);
      place = b_.add(b_.splat(first), further);
    }
    const Value here = is_within(place, within_[a][static_cast<std::size_t>(axis_)]);
    if (inside.handle && width_ > 1) inside = b_.splat(inside);
    inside = inside.handle ? b_.bit_and(inside, here) : here;
  }
  if (!inside.handle) inside = b_.constant(Dtype::Bool, 1);
  const int lanes = access.lanes > 1 ? access.lanes : stride == 0 && !cut ? 1 : width_;
  b_.set_lanes(lanes);
  if (lanes > 1 && b_.lanes_of(inside) == 1) inside = b_.splat(inside);
  const auto has_elements = [](const Span& places) { return places.low < places.high; };
  if (lanes > 1 && access.lanes <= 1 && stride == 0 &&
      has_elements(within_[a][static_cast<std::size_t>(axis_)])) {
    const Value element = b_.masked_load(p, access.dtype, row);
    b_.set_lanes(lanes);
    return b_.splat(element);
  }
  if (lanes > 1 && access.lanes <= 1 && stride != 1)
    return b_.gather(p, lane_places(stride), access.dtype, inside);
  if (lanes == 1) return b_.masked_load(p, access.dtype, inside);
  // Processors take a hundred times as long for a load of nothing from where there is no memory.
  const Value some = b_.any(inside);
  const ConstPointer there = b_.choose(some, p, access.base);
  b_.set_lanes(lanes);
  return b_.masked_load(there, access.dtype, inside);
}

}  // namespace apsis::detail
