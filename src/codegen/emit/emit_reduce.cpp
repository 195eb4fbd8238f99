// Sums and other reductions over axes of arrays, in the order of ops/sum_order.hpp: what a loop of them
// walks, and how.

#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/emit/equations.hpp"
#include "codegen/emit/fusion.hpp"
#include "ops/reduce_params.hpp"
#include "ops/sum_order.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {

/// The axes that disappear, those that all arrays walk as one taken together: none, one or two.
struct Fusion::SumAxes {
  std::int64_t terms = 1, inner = 1;
  std::vector<WalkStrides> strides;  // by view
  bool few = true;                   // there are at most two

  SumAxes(const Shape& shape, const Dims& axes, const std::vector<View>& views) : strides(views.size()) {
    int found = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t n = shape[d];
      if (!axes.contains(static_cast<std::int64_t>(d)) || n == 1) continue;
      std::int64_t& extent = found == 2 ? outer_ : inner;
      const auto continues = [&](const View& view) {
        const WalkStrides& s = strides[static_cast<std::size_t>(&view - views.data())];
        return view.strides[d] == (found == 2 ? s.outer : s.inner) * extent;
      };
      terms *= n;
      if (found > 0 && std::ranges::all_of(views, continues)) {
        extent *= n;
        continue;
      }
      if (found++ == 2) few = false;
      for (std::size_t i = 0; i < views.size(); ++i)
        (found == 2 ? strides[i].outer : strides[i].inner) = views[i].strides[d];
      (found == 2 ? outer_ : inner) = n;
    }
  }

 private:
  std::int64_t outer_ = 1;
};

const Dims& Fusion::axes() const {
  const auto sum = std::ranges::find_if(eqns_, [&](const Eqn* e) { return reduces(graph_, *e); });
  return (*sum)->params.as<ReduceParams>().axes;
}

/// Of what is read, then of what will be stored.
std::vector<View> Fusion::views() const {
  std::vector<View> views;
  for (const Access& a : loop_.accesses) views.push_back(a.view);
  for (const Stored& s : stored_) views.push_back(region_.destined_view(s.value, s.lanes));
  return views;
}

/// Whether vectors of terms may go on in the next line, part of them read here and part there.
bool Fusion::can_cross_lines(const SumAxes& axes) const {
  return axes.inner >= sum_few_partials && stored_.empty() &&
         std::ranges::all_of(loop_.accesses, [](const Access& a) { return item_size(a.dtype) >= 4; });
}

/// Whether neighbouring terms are neighbours in memory, in each array that has different ones.
bool Fusion::can_walk_along(const SumAxes& axes) const {
  if (loop_.lanes > 1 || axes.terms < sum_sequential_below || region_.lowering().options().vector_lanes == 1)
    return false;
  if (axes.inner != axes.terms && axes.inner % sum_few_partials != 0 && !can_cross_lines(axes)) return false;
  const auto reads = axes.strides.begin() + std::ssize(loop_.accesses);
  const auto one = [](const WalkStrides& s) { return s.inner == 1; };
  return std::any_of(axes.strides.begin(), reads, one) && std::all_of(reads, axes.strides.end(), one) &&
         std::all_of(axes.strides.begin(), reads,
                     [](const WalkStrides& s) { return s.inner == 0 || s.inner == 1; });
}

/// Whether there are so few terms, along one axis, that lines of neighbouring ones can be turned in
/// registers.
bool Fusion::can_turn(const SumAxes& axes) const {
  constexpr std::int64_t most_unrolled = 512;  // instructions
  return loop_.lanes == 1 && region_.lowering().options().vector_lanes != 1 &&
         axes.terms > LoopNest::most_apart && axes.terms < sum_sequential_below && axes.inner == axes.terms &&
         axes.terms * (cost_ + 4) <= most_unrolled;
}

/// Whether neighbouring sums have neighbouring terms, in each array that has different ones, or lines of them
/// are turned.
bool Fusion::has_lines_side_by_side(const SumAxes& sum) const {
  constexpr std::int64_t few = 4;
  const bool turns = can_turn(sum);
  const std::vector<View> views = this->views();
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    if (axes().contains(static_cast<std::int64_t>(d)) || shape_[d] < few) continue;
    const auto ok = [&](const View& v) {
      const auto i = static_cast<std::size_t>(&v - views.data());
      const bool read = i < loop_.accesses.size();
      const bool line = turns && read && v.strides[d] > 0 && has_lines(loop_.accesses[i], sum.strides[i]);
      return v.strides[d] == 1 || (read && v.strides[d] >= 0 && v.strides[d] <= LoopNest::most_apart) || line;
    };
    if (std::ranges::all_of(views, ok)) return true;
  }
  return false;
}

bool Fusion::can_sum() const {
  if (std::ranges::any_of(loop_.accesses, [](const Access& a) { return !a.within.empty(); })) return false;
  const SumAxes sum(shape_, axes(), views());
  return sum.few && (loop_.lanes > 1 || can_walk_along(sum) || has_lines_side_by_side(sum));
}

bool Fusion::walks_one_axis() const {
  const SumAxes sum(shape_, axes(), views());
  return sum.few && sum.inner == sum.terms;
}

void Fusion::in_order() {
  const SumAxes sum(shape_, axes(), views());
  APSIS_ASSERT(sum.few);
  const bool along = can_walk_along(sum);
  place_results();
  for (std::size_t d = 0; d < shape_.size(); ++d)
    if (!axes().contains(static_cast<std::int64_t>(d))) loop_.shape.push_back(shape_[d]);
  const auto take_apart = [&](auto& access, std::size_t i) {
    View view{loop_.shape, {}, access.view.offset};
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (!axes().contains(static_cast<std::int64_t>(d))) view.strides.push_back(access.view.strides[d]);
    access.view = std::move(view);
    access.walk = sum.strides[i];
  };
  for (std::size_t i = 0; i < loop_.accesses.size(); ++i) take_apart(loop_.accesses[i], i);
  for (std::size_t i = 0; i < loop_.sinks.size(); ++i) take_apart(loop_.sinks[i], loop_.accesses.size() + i);
  const bool turned = !along && can_turn(sum) && std::ranges::any_of(loop_.accesses, [](const Access& a) {
    return has_lines(a, a.walk);  // `take_apart` has set it
  });
  loop_.walk = {sum.terms, sum.inner, along, turned, cost_ <= short_wait};
  for (std::size_t i = 0; i < reduced_.size(); ++i) {
    const Aval& aval = graph_.aval(reduced_[i]);
    const int lanes = loop_.lanes > 1 ? loop_.totals[i].lanes : 1;
    const Destination made = region_.destination(reduced_[i], lanes);
    loop_.sinks.push_back(made.sink(aval.dtype()));
    results_.emplace_back(reduced_[i], made.place());
  }
  const int registers = loop_.lanes > 1 ? 1 : region_.lowering().vector_lanes(widest_);
  if (along) {
    loop_.width = cost_ <= short_wait ? sum_many_partials : std::min(registers, sum_many_partials);
    // A vector does not go on in another line: as many partial results as divide the length of lines. Where
    // these are few, it does, if lines are as long.
    const std::int64_t divides = sum.inner & -sum.inner, most = loop_.width;
    if (sum.inner != sum.terms && divides >= sum_few_partials)
      loop_.width = static_cast<int>(std::min(most, divides));
    else if (sum.inner != sum.terms)
      loop_.width = static_cast<int>(
          std::min(most, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(sum.inner)))));
  } else if (turned) {
    loop_.width = registers;  // squares are of one vector a line
  } else if (registers > 1) {
    // Partial results of a strip of sums side by side stay in the first cache.
    constexpr std::size_t strip_bytes = 512, most_lanes = 64;
    const auto most =
        static_cast<int>(std::bit_floor(std::min(strip_bytes / widest_ / reduced_.size(), most_lanes)));
    loop_.width = std::max(registers, cost_ <= short_wait ? most : std::min(2 * registers, most));
  }
}

bool emit_reduce(Region& region, const Eqn& e) {
  if (!reduces(region.graph(), e)) return false;
  const auto number = static_cast<std::uint32_t>(&e - region.graph().eqns().data());
  const ValueId operand = region.operands(e)[0];
  Fusion fusion(region, {&number, 1});
  if (fusion.can_sum() || fusion.walks_one_axis()) {
    fusion.in_order();
    fusion.write();
    return true;
  }
  // A copy that has the terms of each sum one after the other.
  const Aval& aval = region.aval(operand);
  const Dims& axes = e.params.as<ReduceParams>().axes;
  Dims order;
  for (const bool reduced : {false, true})
    for (std::size_t d = 0; d < aval.shape().size(); ++d)
      if (axes.contains(static_cast<std::int64_t>(d)) == reduced)
        order.push_back(static_cast<std::int64_t>(d));
  Place from = region.in_memory(operand);
  View turned{{}, {}, from.view.offset};
  for (std::int64_t d : order) {
    turned.shape.push_back(aval.shape()[static_cast<std::size_t>(d)]);
    turned.strides.push_back(from.view.strides[static_cast<std::size_t>(d)]);
  }
  const Aval stored(aval.dtype(), turned.shape);
  from.view = turned;
  const Destination made = region.allocate(stored, from.lanes);
  region.copy(from, stored, made);
  Place copied = made.place();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto d = static_cast<std::size_t>(order[i]);
    turned.shape[d] = aval.shape()[d];
    turned.strides[d] = made.place().view.strides[i];
  }
  copied.view = {turned.shape, turned.strides, made.place().view.offset};
  Place original = region.place(operand);
  region.define(operand, std::move(copied));
  Fusion again(region, {&number, 1});
  again.in_order();
  again.write();
  region.define(operand, std::move(original));
  return true;
}

}  // namespace apsis::detail
