// Sums of outer products in a packet's replay: the vectors of some iterations are kept, and added up when
// there is no more room for others, or when lanes are about to leave or enter.

#include <algorithm>

#include "codegen/lanes/lane_code.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t kept_bytes = std::int64_t{1} << 19;  // a part of a core's own cache
constexpr std::int64_t most_iterations = 16;
// Vectors often are as long as a way of the first-level cache: without a gap all would meet in the same few
// places of it.
constexpr std::int64_t gap = 256;

}  // namespace

void LaneCode::open_outer_sums(Region& homes) {
  if (outer_.sums.empty()) return;
  for (const Aval& aval : outer_.vectors) {
    kept_offsets_.push_back(kept_stride_);
    kept_stride_ += static_cast<std::int64_t>(aval.bytes()) * width_ + gap;
  }
  kept_stride_ = (kept_stride_ + gap - 1) / gap * gap;
  most_kept_ = std::clamp<std::int64_t>(kept_bytes / kept_stride_, 1, most_iterations);
  kept_ = homes.allocate(Aval(Dtype::U8, {most_kept_ * kept_stride_}), 1).place();
  b_.set_lanes(1);
  kept_count_ = b_.stack(sizeof(std::int64_t));
  b_.store(kept_count_, b_.index(0));
  add_kept_ = write_outer_sums();
}

/// Where this iteration's vectors go.
std::vector<Place> LaneCode::outer_vectors(Value active) {
  std::vector<Place> places;
  if (outer_.sums.empty()) return places;
  b_.set_lanes(1);
  const ConstPointer here =
      element_address(kept_.base, b_.load_element(kept_count_, Dtype::I64), kept_stride_);
  for (std::size_t i = 0; i < outer_.vectors.size(); ++i) {
    Place& place = places.emplace_back();
    place.kind = Place::Kind::Memory;
    place.base = b_.offset(here, kept_offsets_[i]);
    place.view = View::contiguous(outer_.vectors[i].shape());
    place.lanes = width_;
    place.kept = active;
  }
  return places;
}

void LaneCode::keep_outer_vectors() {
  if (outer_.sums.empty()) return;
  b_.set_lanes(1);
  const Value count = b_.add(b_.load_element(kept_count_, Dtype::I64), b_.index(1));
  b_.store(kept_count_, count);
  const Block full = b_.make_block("full"), go_on = b_.make_block("kept");
  b_.branch(b_.compare(Compare::Ge, count, b_.index(most_kept_)), full, go_on);
  b_.set_position(full);
  flush_outer_sums();
  b_.jump(go_on);
  b_.set_position(go_on);
}

void LaneCode::flush_outer_sums() {
  if (outer_.sums.empty()) return;
  b_.set_lanes(1);
  const Value count = b_.load_element(kept_count_, Dtype::I64);
  const Block some = b_.make_block("some"), none = b_.make_block("none");
  b_.branch(b_.compare(Compare::Gt, count, b_.index(0)), some, none);
  b_.set_position(some);
  std::vector<Operand> arguments{kept_.base, count};
  for (const OuterSum& sum : outer_.sums)
    arguments.push_back(
        std::ranges::find(slots_, loop_parts().first_carry() + sum.carry, &Slot::operand)->home_now);
  b_.call(add_kept_, arguments, {});
  b_.store(kept_count_, b_.index(0));
  b_.jump(none);
  b_.set_position(none);
}

Function LaneCode::write_outer_sums() {
  std::vector<Type> parameters(2 + outer_.sums.size(), pointer_type);
  parameters[1] = {Dtype::I64, 1};
  const Function f = b_.declare("outer", parameters, {});
  b_.begin(f);
  OuterArrays arrays{{}, b_.pointer_parameter(0), kept_offsets_, kept_stride_, b_.parameter(1), width_};
  for (std::size_t s = 0; s < outer_.sums.size(); ++s) {
    arrays.carry = b_.pointer_parameter(static_cast<int>(2 + s));
    const Aval& carry = outer_.body->aval(static_cast<ValueId>(loop_parts().consts + outer_.sums[s].carry));
    write_outer_sum(b_, outer_.sums[s], carry, arrays);
  }
  b_.set_lanes(1);
  b_.return_values({});
  b_.end();
  return f;
}

}  // namespace apsis::detail
