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

/// Which of the current elements have their places along the vectorised axis in a span. Of narrow elements,
/// lanes are counted from the first one in as narrow integers: masks are as wide as what they are for.
Value LoopNest::are_within(Dtype dtype, Span span) {
  constexpr std::int64_t most = 1 << 30;  // places, which such integers count
  b_.set_lanes(1);
  const Value first = inner_zero_ ? b_.index(0) : inner_;
  if (width_ == 1) return is_within(first, span);
  const bool narrow = item_size(dtype) <= 4 && extents_[static_cast<std::size_t>(axis_)] < most;
  const Dtype counts = narrow ? Dtype::I32 : Dtype::I64;
  const auto from_first = [&](std::int64_t place) {
    b_.set_lanes(1);
    const Value lane = b_.sub(b_.index(place), first);
    const Value count = narrow ? b_.convert(lane, counts) : lane;
    b_.set_lanes(width_);
    return b_.splat(count);
  };
  const Value low = from_first(span.low), high = from_first(span.high);
  const Value lanes = narrow ? b_.convert(lane_places(1), counts) : lane_places(1);
  return b_.bit_and(b_.compare(Compare::Ge, lanes, low), b_.compare(Compare::Lt, lanes, high));
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
    const Value here = are_within(access.dtype, within_[a][static_cast<std::size_t>(axis_)]);
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
  const bool backwards = lanes > 1 && access.lanes <= 1 && stride == -1;
  if (lanes > 1 && access.lanes <= 1 && stride != 1 && !backwards)
    return b_.gather(p, lane_places(stride), access.dtype, inside);
  if (lanes == 1) return b_.masked_load(p, access.dtype, inside);
  const auto item = static_cast<std::int64_t>(item_size(access.dtype));
  const Value mask = backwards ? reversed(b_, inside) : inside;
  // Processors take a hundred times as long for a load of nothing from where there is no memory.
  const Value some = b_.any(inside);
  b_.set_lanes(1);
  const ConstPointer first = backwards ? b_.offset(p, (1 - lanes) * item) : p,
                     there = b_.choose(some, first, access.base);
  b_.set_lanes(lanes);
  const Value loaded = b_.masked_load(there, access.dtype, mask);
  return backwards ? reversed(b_, loaded) : loaded;
}

}  // namespace apsis::detail
