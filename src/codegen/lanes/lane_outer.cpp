#include "codegen/lanes/lane_outer.hpp"

#include <algorithm>

namespace apsis::detail {
namespace {

constexpr std::int64_t kept_bytes = std::int64_t{1} << 19;  // a part of a core's own cache
constexpr std::int64_t most_iterations = 16;
// Vectors often are as long as a way of the first-level cache: without a gap all would meet in the same few
// places of it.
constexpr std::int64_t gap = 256;

}  // namespace

LaneOuterSums::LaneOuterSums(LaneChunk& chunk, const LaneSlots& slots, Region& homes)
    : chunk_(chunk), b_(chunk.b), slots_(slots) {
  if (chunk.outer.sums.empty()) return;
  for (const Aval& aval : chunk.outer.vectors) {
    offsets_.push_back(stride_);
    stride_ += static_cast<std::int64_t>(aval.bytes()) * chunk.width + gap;
  }
  stride_ = (stride_ + gap - 1) / gap * gap;
  most_ = std::clamp<std::int64_t>(kept_bytes / stride_, 1, most_iterations);
  kept_ = homes.allocate(Aval(Dtype::U8, {most_ * stride_}), 1).place();
  b_.set_lanes(1);
  count_ = b_.stack(sizeof(std::int64_t));
  b_.store(count_, b_.index(0));
  add_ = write_sums();
}

std::vector<Place> LaneOuterSums::vectors(Value active) {
  std::vector<Place> places;
  if (chunk_.outer.sums.empty()) return places;
  b_.set_lanes(1);
  const ConstPointer here = chunk_.element_address(kept_.base, b_.load_element(count_, Dtype::I64), stride_);
  for (std::size_t i = 0; i < chunk_.outer.vectors.size(); ++i) {
    Place& place = places.emplace_back();
    place.kind = Place::Kind::Memory;
    place.base = b_.offset(here, offsets_[i]);
    place.view = View::contiguous(chunk_.outer.vectors[i].shape());
    place.lanes = chunk_.width;
    place.kept = active;
  }
  return places;
}

void LaneOuterSums::keep() {
  if (chunk_.outer.sums.empty()) return;
  b_.set_lanes(1);
  const Value count = b_.add(b_.load_element(count_, Dtype::I64), b_.index(1));
  b_.store(count_, count);
  if_(b_, b_.compare(Compare::Ge, count, b_.index(most_)), [&] { flush(); });
}

void LaneOuterSums::flush() {
  if (chunk_.outer.sums.empty()) return;
  b_.set_lanes(1);
  const Value count = b_.load_element(count_, Dtype::I64);
  const auto add = [&] {
    std::vector<Operand> arguments{kept_.base, count};
    for (const OuterSum& sum : chunk_.outer.sums) arguments.push_back(slots_.home_of_carry(sum.carry));
    b_.call(add_, arguments, {});
    b_.store(count_, b_.index(0));
  };
  if_(b_, b_.compare(Compare::Gt, count, b_.index(0)), add);
}

Function LaneOuterSums::write_sums() {
  std::vector<Type> parameters(2 + chunk_.outer.sums.size(), pointer_type);
  parameters[1] = {Dtype::I64, 1};
  const Function f = b_.declare("outer", parameters, {});
  b_.begin(f);
  OuterArrays arrays{{}, b_.pointer_parameter(0), offsets_, stride_, b_.parameter(1), chunk_.width};
  for (std::size_t s = 0; s < chunk_.outer.sums.size(); ++s) {
    arrays.carry = b_.pointer_parameter(static_cast<int>(2 + s));
    const Aval& carry = chunk_.outer.body->aval(
        static_cast<ValueId>(chunk_.loop_parts().consts + chunk_.outer.sums[s].carry));
    write_outer_sum(b_, chunk_.outer.sums[s], carry, arrays);
  }
  b_.set_lanes(1);
  b_.return_values({});
  b_.end();
  return f;
}

}  // namespace apsis::detail
