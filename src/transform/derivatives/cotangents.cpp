#include "transform/derivatives/cotangents.hpp"

#include <algorithm>

#include "core/list.hpp"
#include "ir/regions.hpp"
#include "ops/lax.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

extern const Op map_lanes_op, scan_op;

namespace {

/// Entry by entry, lane by lane: the records of a loop are read by more than one loop when it is
/// differentiated again and again.
Array add_lists(const Array& a, const Array& b) {
  const bool lanes = of_lanes(a.aval().list());
  AvalData entry = *a.aval();
  entry.list = lanes ? without_lanes(entry.list) : entry_kind(entry.list);
  if (lanes) entry.shape.erase(0);
  const Aval avals[] = {Aval(entry), Aval(entry)};
  const auto sum = [&](std::span<const Array> in) {
    return std::vector<Array>{in[0].aval().is_list() ? add_lists(in[0], in[1]) : lax::add(in[0], in[1])};
  };
  const GraphRef body = stage_with(sum, avals, "transpose").graph;
  const Array lists[] = {a, b};
  if (!lanes) return bind_all(scan_op, make_params(ScanParams{body, 0, 0, -1, false}), lists)[0];
  return bind_all(map_lanes_op, make_params(MapLanesParams{body, a.shape()[0], {0, 0}, {}}), lists)[0];
}

}  // namespace

Shape first_axes(const Shape& shape, Conditional kind) {
  return Shape(shape.data(), static_cast<std::size_t>(std::max(0, kind.axes)));
}

Cotangents::Cotangents(const Graph& graph, const std::vector<char>& linear)
    : graph_(graph), linear_(linear), sums_(graph.value_count()), guards_(graph.value_count()) {}

void Cotangents::drop(const Eqn& e) {
  std::ranges::fill(of_results(e), Array());
  std::fill_n(guards_.begin() + e.first_result, e.result_count, Guard());
}

// Sums of what counts under the same condition stay under it; else they count where one of the summands
// does, each zero where it does not. If one counts where the other does not, one is chosen where the
// condition is for the whole array; by element they are added, so that the last bits do not depend on
// which conditions are known to be the same.
void Cotangents::add(ValueId v, Array more, const Guard& guard, const Slice& part) {
  if (more.aval().is_list()) return add_list(v, std::move(more), guard);
  Array& sum = sums_[v];
  Guard& held = guards_[v];
  const Array counts = note_part(v, guard, part);
  if (!counts.is_empty()) {
    settle(v);
    sum = lax::add(sum, guarded(more, guard));
    held = guard_of(counts);
    held.zeroed = true;
  } else if (sum.is_empty()) {
    sum = std::move(more);
    held = guard;
  } else if (held == guard) {
    sum = lax::add(sum, more);
    held.zeroed = held.zeroed && guard.zeroed;
  } else if (held.has_condition_of(guard) && held.is_scalar()) {
    sum = guarded(sum, held, more);
    held = {};
  } else {
    Guard one = either(held, guard);
    one.zeroed = true;
    settle(v);
    sum = lax::add(sum, guarded(more, guard));
    held = std::move(one);
  }
}

// Notes that a slice, or another equation (null), makes a summand of the cotangent of `v`. If all are
// slices, and they count under different conditions, returns where their sum does, by element.
Array Cotangents::note_part(ValueId v, const Guard& guard, const Slice& part) {
  if (!chooses_) return {};
  if (!part.eqn) return parts_.erase(v), Array();
  const bool first = sums_[v].is_empty();
  const auto found = first ? parts_.insert_or_assign(v, Parts()).first : parts_.find(v);
  if (found == parts_.end()) return {};
  Parts& parts = found->second;
  const bool same = first || (parts.counts.is_empty() && guards_[v] == guard);
  parts.slices.push_back(part);
  return same ? Array() : count_parts(parts);
}

// Where the sum of slices counts, by element.
Array Cotangents::count_parts(Parts& parts) {
  for (const Slice& s : parts.slices) {
    const Array where = moved(s);
    parts.counts = parts.counts.is_empty() ? where : lax::logical_or(parts.counts, where);
  }
  parts.slices.clear();
  return parts.counts;
}

void Cotangents::use_parts(ValueId v) {
  const auto found = parts_.find(v);
  if (found == parts_.end() || !found->second.counts.is_empty() || sums_[v].is_empty()) return;
  const Array counts = count_parts(found->second);
  settle(v);
  guards_[v] = guard_of(counts);
  guards_[v].zeroed = true;
}

// Where the cotangent of the operand of a slice counts, by element.
Array Cotangents::moved(const Slice& slice) const {
  const Shape& part = graph_.aval(slice.eqn->first_result).shape();
  return moved(*slice.eqn,
               slice.guard.is_empty() ? lax::full(part, Dtype::Bool, 1) : holds_in(slice.guard, part))[0];
}

std::vector<Array> Cotangents::moved(const Eqn& e, const Array& where) const {
  const auto ids = graph_.operands(e);
  const std::vector<Array> none(ids.size());
  std::vector<Accumulator> found;
  for (ValueId v : ids) found.emplace_back(linear_[v] != 0, Aval(where.dtype(), graph_.aval(v).shape()));
  e.op->transpose({e.params, none, {&where, 1}, found});
  std::vector<Array> conditions;
  for (const Accumulator& a : found)
    conditions.push_back(a.terms().empty() ? Array() : a.terms()[0].cotangent);
  return conditions;
}

// Lists are zero already where they do not count, which is a condition for each entry, or for the whole
// list of each lane.
void Cotangents::add_list(ValueId v, Array more, Guard guard) {
  const bool by_lane = guard.is_empty() || guard.is_scalar() || guard.axes == Dims{0};
  if (of_lanes(more.aval().list()) && !by_lane) guard = {};
  guard.zeroed = true;
  Array& sum = sums_[v];
  guards_[v] = sum.is_empty() ? guard : either(guards_[v], guard);
  guards_[v].zeroed = true;
  sum = sum.is_empty() ? std::move(more) : add_lists(sum, more);
}

void Cotangents::settle(ValueId v) {
  if (guards_[v].is_empty()) return;
  sums_[v] = guarded(sums_[v], guards_[v]);
  guards_[v] = {};
}

Array Cotangents::take_condition(ValueId v, Conditional kind) {
  const Guard guard = guards_[v];
  if (kind.axes == Conditional::no || guard.is_empty()) return {};
  const Shape& shape = graph_.aval(v).shape();
  const bool any = kind.axes == Conditional::any;
  if (!any && std::ranges::any_of(guard.axes, [&](std::int64_t axis) { return axis >= kind.axes; }))
    return {};
  guards_[v] = {};
  return any ? leading(guard, shape) : holds_in(guard, first_axes(shape, kind));
}

std::optional<Guard> Cotangents::meet(const Guard& a, const Guard& b) {
  if (a.is_empty() || b.is_empty() || a.has_condition_of(b)) return both(a, b);
  auto& made = meetings_[{a.condition.node(), b.condition.node()}];
  for (const Meeting& m : made)
    if (m.a == a && m.b == b) return m.both;
  made.push_back({a, b, *both(a, b)});
  return made.back().both;
}

}  // namespace apsis::detail
