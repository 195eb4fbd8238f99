#include "passes/join_pads.hpp"

#include <algorithm>
#include <optional>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

bool is_sum(const Eqn& e) { return e.op->arithmetic == Arithmetic::Sum; }
bool is_pad(const Eqn& e) { return e.op == &pad_op; }

/// Whether loops had better read it as it is. Columns of short rows are put together in registers.
bool is_read_by_loops(const Graph& graph, const Eqn& pad) {
  constexpr std::int64_t most_columns = 8;
  const Shape& shape = graph.aval(pad.first_result).shape();
  return pads_around(graph, pad) && (shape.size() == 1 || shape.back() > most_columns);
}

/// An array among zeros along one axis: each of its entries is a place of the first, first + step, …
struct Strip {
  ValueId array;
  std::int64_t first, end;
};
/// Strips of neighbouring axes, from `axis` to before `axes_end`, which are one for them.
struct Strips {
  std::size_t axis, axes_end;
  std::int64_t step = 1;
  std::vector<Strip> all;
  std::optional<ValueId> other;  // to which they are added
};

class Joining {
 public:
  explicit Joining(const Graph& graph)
      : graph_(graph), padded_(graph.value_count(), 0), strips_(graph.eqns().size()) {
    const std::vector<std::uint32_t> uses = count_uses(graph);
    for (const Eqn& e : graph.eqns())
      if (e.result_count == 1 && uses[e.first_result] == 1) padded_[e.first_result] = is_padded(e);
  }

  /// Whether there is a sum to join.
  bool plan();
  GraphRef run();

 private:
  bool is_zero(ValueId v) const;
  bool is_padded(const Eqn& e) const;
  struct Terms {
    std::vector<const Eqn*> pads;
    std::optional<ValueId> other;
  };
  Terms terms(const Eqn& sum) const;
  std::optional<Strips> strips_of(const std::vector<const Eqn*>& pads) const;
  ValueId joined(const Eqn& sum, const Strips& strips);
  ValueId added_to_zero(ValueId array, ValueId zero, Loc loc);

  const Graph& graph_;
  std::vector<char> padded_;                   // by value: a pad, or a sum with one, that has one reader
  std::vector<std::optional<Strips>> strips_;  // by equation
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

bool Joining::is_zero(ValueId v) const {
  const Eqn* e = graph_.definition(v);
  return e && e->op->kind == OpKind::Constant && e->params.as<ConstantParams>().bits == 0;
}

bool Joining::is_padded(const Eqn& e) const {
  const auto operands = graph_.operands(e);
  if (is_sum(e)) return std::ranges::any_of(operands, [&](ValueId v) { return padded_[v] != 0; });
  return is_pad(e) && is_zero(operands[1]);
}

/// The terms of a sum: pads, and at most one other. No pads if there are more others, or one pad alone.
Joining::Terms Joining::terms(const Eqn& sum) const {
  constexpr std::size_t most = 64;
  Terms terms;
  std::vector<const Eqn*> sums = {&sum};
  while (!sums.empty()) {
    const Eqn* e = sums.back();
    sums.pop_back();
    for (ValueId v : graph_.operands(*e)) {
      const Eqn* term = graph_.definition(v);
      if (!padded_[v]) {
        if (terms.other) return {};
        terms.other = v;
      } else if (is_sum(*term)) {
        sums.push_back(term);
      } else {
        terms.pads.push_back(term);
      }
    }
    if (terms.pads.size() > most) return {};
  }
  return terms.pads.size() > 1 ? terms : Terms();
}

bool fills(const Strips& strips, std::int64_t whole) {
  std::int64_t end = 0;
  for (const Strip& strip : strips.all) {
    if (strip.first != end) return false;
    end = strip.end;
  }
  return end == (strips.step > 1 ? strips.step : whole);
}

/// `shape` with the axes from `first` to before `end` as one.
Shape with_one_axis(const Shape& shape, std::size_t first, std::size_t end) {
  Shape whole;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d > first && d < end)
      whole[first] *= shape[d];
    else
      whole.push_back(shape[d]);
  return whole;
}

/// Where a padded array is in several axes as if they were one: the number of its first entry there. It must
/// have a single entry along all axes before one, and all of them behind it.
std::optional<std::int64_t> first_in_axes(const PadParams& p, const Shape& from, const Shape& to,
                                          std::size_t first, std::size_t end) {
  std::int64_t place = 0;
  bool partial = false;
  for (std::size_t d = first; d < end; ++d) {
    if (p.interior[d] != 0 || (partial && from[d] != to[d])) return std::nullopt;
    partial = partial || from[d] != 1;
    place = place * to[d] + p.low[d];
  }
  return place;
}

/// The arrays, along the axes on which some of them are padded, in the order of their places. Zeros between
/// entries are those of every second, third … place: in an axis of their number, the arrays have size 1.
std::optional<Strips> Joining::strips_of(const std::vector<const Eqn*>& pads) const {
  const Shape& whole = graph_.aval(pads[0]->first_result).shape();
  Strips strips{.axis = whole.size(), .axes_end = 0};
  for (const Eqn* e : pads) {
    const auto& p = e->params.as<PadParams>();
    for (std::size_t d = 0; d < p.low.size(); ++d) {
      if (p.low[d] < 0 || p.high[d] < 0) return std::nullopt;
      if (p.low[d] + p.high[d] + p.interior[d] == 0) continue;
      strips.axis = std::min(strips.axis, d);
      strips.axes_end = std::max(strips.axes_end, d + 1);
    }
  }
  if (strips.axes_end == 0) return std::nullopt;
  const std::size_t axis = strips.axis;
  const bool one_axis = strips.axes_end == axis + 1;
  strips.step = one_axis ? pads[0]->params.as<PadParams>().interior[axis] + 1 : 1;
  for (const Eqn* e : pads) {
    const auto& p = e->params.as<PadParams>();
    const ValueId array = graph_.operands(*e)[0];
    const Shape& from = graph_.aval(array).shape();
    if (!one_axis) {
      const auto first = first_in_axes(p, from, whole, axis, strips.axes_end);
      if (!first) return std::nullopt;
      strips.all.push_back({array, *first, *first + with_one_axis(from, axis, strips.axes_end)[axis]});
      continue;
    }
    const std::int64_t first = p.low[axis], entries = from[axis];
    if (p.interior[axis] + 1 != strips.step) return std::nullopt;
    if (strips.step > 1 && (entries == 0 || first + p.high[axis] + 1 != strips.step)) return std::nullopt;
    strips.all.push_back({array, first, first + (strips.step > 1 ? 1 : entries)});
  }
  std::ranges::sort(strips.all, {}, &Strip::first);
  for (std::size_t i = 1; i < strips.all.size(); ++i)
    if (strips.all[i - 1].end > strips.all[i].first) return std::nullopt;
  // What loops read as arrays in a part of the shape is put together where that leaves no zeros.
  const bool around = std::ranges::any_of(pads, [&](const Eqn* e) { return is_read_by_loops(graph_, *e); });
  if (around && !fills(strips, with_one_axis(whole, axis, strips.axes_end)[axis])) return std::nullopt;
  return strips;
}

bool Joining::plan() {
  constexpr std::int64_t few = 32;  // elements, which are in registers
  bool any = false;
  std::vector<char> inner(graph_.value_count(), 0);  // part of a larger sum
  const auto eqns = graph_.eqns();
  for (std::size_t i = eqns.size(); i-- > 0;) {
    const Eqn& e = eqns[i];
    if (!is_sum(e) || inner[e.first_result]) continue;
    const Aval& aval = graph_.aval(e.first_result);
    if (aval.size() <= few || is_complex(aval.dtype())) continue;
    const auto [pads, other] = terms(e);
    if (pads.empty()) continue;
    const bool around = std::ranges::any_of(pads, [&](const Eqn* p) { return is_read_by_loops(graph_, *p); });
    if (around && other) continue;
    strips_[i] = strips_of(pads);
    if (!strips_[i]) continue;
    strips_[i]->other = other;
    any = true;
    std::vector<ValueId> sums = {e.first_result};
    while (!sums.empty()) {
      const Eqn* sum = graph_.definition(sums.back());
      sums.pop_back();
      for (ValueId v : graph_.operands(*sum))
        if (padded_[v] && is_sum(*graph_.definition(v))) {
          inner[v] = 1;
          sums.push_back(v);
        }
    }
  }
  return any;
}

/// An array plus 0, which makes +0 of -0: in the shape in which it is made, so that one loop can do both.
ValueId Joining::added_to_zero(ValueId array, ValueId zero, Loc loc) {
  const Eqn* made = graph_.definition(array);
  const bool reshaped = made && made->op->view_kind == ViewKind::Reshaped;
  const ValueId source = reshaped ? graph_.operands(*made)[0] : array;
  const BroadcastParams everywhere{graph_.aval(source).shape(), {}};
  const ValueId terms[] = {copy_[source],
                           append1(builder_, broadcast_in_dim_op, make_params(everywhere), {&zero, 1}, loc)};
  const ValueId total = append1(builder_, add_op, {}, terms, loc);
  return reshaped ? append1(builder_, reshape_op, made->params, {&total, 1}, loc) : total;
}

/// Zeros where there is no array. The arrays were added to zeros; another term to one of them, or to nothing
/// but zeros, at each place.
ValueId Joining::joined(const Eqn& sum, const Strips& strips) {
  const Aval& aval = graph_.aval(sum.first_result);
  const ValueId zero = append1(builder_, constant_op,
                               make_params(ConstantParams{aval.dtype(), aval.weak(), 0, 0}), {}, sum.loc);
  const bool apart = strips.step > 1;
  const std::size_t axis = strips.axis + (apart ? 1 : 0);  // of the parts
  const auto as = [&](ValueId v, const Shape& shape) {
    return append1(builder_, reshape_op, make_params(ReshapeParams{shape}), {&v, 1}, sum.loc);
  };
  Shape shape = with_one_axis(aval.shape(), strips.axis, strips.axes_end);
  const bool merged = strips.axes_end > strips.axis + 1;
  if (apart) {
    shape[strips.axis] /= strips.step;
    shape.insert(axis, strips.step);
  }
  const auto zeros = [&](std::int64_t length) {
    Shape of_part = shape;
    of_part[axis] = length;
    return append1(builder_, broadcast_in_dim_op, make_params(BroadcastParams{of_part, {}}), {&zero, 1},
                   sum.loc);
  };
  std::vector<ValueId> parts;
  std::int64_t end = 0;
  for (const Strip& strip : strips.all) {
    if (end < strip.first) parts.push_back(zeros(strip.first - end));
    if (strip.first < strip.end) {
      parts.push_back(added_to_zero(strip.array, zero, sum.loc));
      if (apart || merged) {
        Shape of_part = shape;
        of_part[axis] = apart ? 1 : strip.end - strip.first;
        parts.back() = as(parts.back(), of_part);
      }
    }
    end = strip.end;
  }
  if (end < shape[axis]) parts.push_back(zeros(shape[axis] - end));
  const ConcatenateParams along{static_cast<std::int64_t>(axis)};
  ValueId whole_sum =
      parts.size() == 1 ? parts[0] : append1(builder_, concatenate_op, make_params(along), parts, sum.loc);
  if (apart || merged) whole_sum = as(whole_sum, aval.shape());
  if (!strips.other) return whole_sum;
  const ValueId terms[] = {copy_[*strips.other], whole_sum};
  return append1(builder_, add_op, {}, terms, sum.loc);
}

GraphRef Joining::run() {
  copy_.add_inputs();
  const auto eqns = graph_.eqns();
  for (std::size_t i = 0; i < eqns.size(); ++i) {
    if (!strips_[i]) {
      copy_.add(eqns[i]);
      continue;
    }
    const ScopeOf scope(eqns[i].scope);
    copy_[eqns[i].first_result] = joined(eqns[i], *strips_[i]);
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef join_pads(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), is_pad)) {
    Joining joining(graph);
    if (joining.plan()) made = joining.run();
  }
  return with_regions(*made, join_pads);
}

}  // namespace apsis::detail
