#include "transform/derivatives/transpose.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/list.hpp"
#include "ir/interpret_with.hpp"
#include "ir/regions.hpp"
#include "ops/lax.hpp"
#include "ops/view_params.hpp"
#include "transform/derivatives/guard.hpp"
#include "transform/stage/messages.hpp"
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

bool has_regions(const Eqn& e) {
  bool found = false;
  each_region(e.params, [&](const Graph&) { found = true; });
  return found;
}

Shape first_axes(const Shape& shape, Conditional kind) {
  return Shape(shape.data(), static_cast<std::size_t>(std::max(0, kind.axes)));
}

/// A slice, and the guard of its result's cotangent.
struct Slice {
  const Eqn* eqn = nullptr;
  Guard guard;
};

/// Slices that a cotangent is the sum of; once they count under different conditions, where.
struct Parts {
  std::vector<Slice> slices;
  Array counts;
};

/// The cotangents of a graph's values, from the last equation to the first.
class Backward {
 public:
  Backward(const Graph& graph, const std::vector<bool>& linear, std::span<const Array> inputs)
      : graph_(graph),
        values_(graph.value_count()),
        cotangents_(graph.value_count()),
        guards_(graph.value_count()),
        linear_(graph.value_count(), 0),
        awaited_(graph.value_count(), 0),
        first_reader_(graph.value_count(), 0xffffffffu),
        unchosen_(graph.value_count(), 0) {
    for (ValueId v = 0; v < graph.input_count(); ++v) {
      linear_[v] = linear[v];
      if (!linear[v]) values_[v] = inputs[v];
    }
    compute_known();
  }

  const Array& cotangent(ValueId v) {
    settle(v);
    return cotangents_[v];
  }

  /// The condition under which the cotangent counts; empty: it is what it is.
  Array take_condition(ValueId v, Conditional kind) {
    const Guard guard = guards_[v];
    if (kind.axes == Conditional::no || guard.is_empty()) return {};
    const Shape& shape = graph_.aval(v).shape();
    const bool any = kind.axes == Conditional::any;
    if (!any && std::ranges::any_of(guard.axes, [&](std::int64_t axis) { return axis >= kind.axes; }))
      return {};
    guards_[v] = {};
    return any ? leading(guard, shape) : holds_in(guard, first_axes(shape, kind));
  }

  /// Sums of what counts under the same condition stay under it; else they count where one of the summands
  /// does, each zero where it does not. If one counts where the other does not, one is chosen where the
  /// condition is for the whole array; by element they are added, so that the last bits do not depend on
  /// which conditions are known to be the same.
  void add(ValueId v, Array more, const Guard& guard = {}, const Slice& part = {}) {
    if (more.aval().is_list()) return add_list(v, std::move(more), guard);
    Array& sum = cotangents_[v];
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

  /// Notes that a slice, or another equation (null), makes a summand of the cotangent of `v`. If all are
  /// slices, and they count under different conditions, returns where their sum does, by element.
  Array note_part(ValueId v, const Guard& guard, const Slice& part) {
    if (!chooses_) return {};
    if (!part.eqn) return parts_.erase(v), Array();
    const bool first = cotangents_[v].is_empty();
    const auto found = first ? parts_.insert_or_assign(v, Parts()).first : parts_.find(v);
    if (found == parts_.end()) return {};
    Parts& parts = found->second;
    const bool same = first || (parts.counts.is_empty() && guards_[v] == guard);
    parts.slices.push_back(part);
    return same ? Array() : count_parts(parts);
  }

  /// Where the sum of slices counts, by element.
  Array count_parts(Parts& parts) {
    for (const Slice& s : parts.slices) {
      const Array where = moved(*s.eqn, s.guard);
      parts.counts = parts.counts.is_empty() ? where : lax::logical_or(parts.counts, where);
    }
    parts.slices.clear();
    return parts.counts;
  }

  /// Nothing that `e` makes is used but by branches that are known not to be chosen, if at all.
  void leave_unchosen(const Eqn& e) {
    char unchosen = 0;
    for (std::uint32_t r = 0; r < e.result_count; ++r) unchosen |= unchosen_[e.first_result + r];
    if (!unchosen) return;
    for (ValueId v : graph_.operands(e)) unchosen_[v] = 1;
  }

  /// Of a value that only slices read: the parts that no chosen branch reads do not count.
  void use_parts(ValueId v) {
    const auto found = parts_.find(v);
    if (found == parts_.end() || !found->second.counts.is_empty() || cotangents_[v].is_empty()) return;
    const Array counts = count_parts(found->second);
    settle(v);
    guards_[v] = guard_of(counts);
    guards_[v].zeroed = true;
  }

  /// Where the cotangent of the operand of a slice counts, by element.
  Array moved(const Eqn& e, const Guard& guard) {
    const Shape& part = graph_.aval(e.first_result).shape();
    return moved(e, guard.is_empty() ? lax::full(part, Dtype::Bool, 1) : holds_in(guard, part))[0];
  }

  /// Booleans go the way of the cotangents through an equation that only moves elements.
  std::vector<Array> moved(const Eqn& e, const Array& where) {
    const auto ids = graph_.operands(e);
    std::vector<Array> none(ids.size()), found(ids.size());
    std::vector<Aval> avals;
    for (ValueId v : ids) avals.push_back(Aval(where.dtype(), graph_.aval(v).shape()));
    const std::unique_ptr<bool[]> linear(new bool[ids.size()]);
    for (std::size_t k = 0; k < ids.size(); ++k) linear[k] = linear_[ids[k]];
    e.op->transpose({e.params, none, avals, {linear.get(), ids.size()}, {&where, 1}, found});
    return found;
  }

  /// Lists are zero already where they do not count, which is a condition for each entry, or for the whole
  /// list of each lane.
  void add_list(ValueId v, Array more, Guard guard) {
    const bool by_lane = guard.is_empty() || guard.is_scalar() || guard.axes == Dims{0};
    if (of_lanes(more.aval().list()) && !by_lane) guard = {};
    guard.zeroed = true;
    Array& sum = cotangents_[v];
    guards_[v] = sum.is_empty() ? guard : either(guards_[v], guard);
    guards_[v].zeroed = true;
    sum = sum.is_empty() ? std::move(more) : add_lists(sum, more);
  }

  void start_sum(ValueId v, const Array& sum, const Guard& guard) {
    chooses_ |= !guard.is_empty();
    add(v, sum, guard);
  }

  void add_to_output(ValueId v, const Array& cotangent, const Guard& guard) {
    chooses_ |= !guard.is_empty();
    if (linear_[v] && !cotangent.is_empty()) add(v, cotangent, guard);
  }

  void run() {
    const auto eqns = graph_.eqns();
    for (std::uint32_t i = static_cast<std::uint32_t>(eqns.size()); i-- > 0;) {
      const Eqn& e = eqns[i];
      if (e.result_count == 0 || !linear_[e.first_result]) continue;
      for (std::uint32_t r = 0; r < e.result_count; ++r)
        if (awaited_[e.first_result + r]) transpose_waiting();
      if (!waits(i)) transpose(e);
    }
    transpose_waiting();
  }

 private:
  /// What does not depend on linear inputs; and which equations read the others.
  void compute_known() {
    run_equations(graph_, values_, [&](const Eqn& e, std::span<const Array> in, std::span<Array> out) {
      char depends = 0;
      for (ValueId v : graph_.operands(e)) depends |= linear_[v];
      chooses_ |= e.op->chooses;
      std::fill_n(linear_.begin() + e.first_result, e.result_count, depends);
      if (!depends) return bind(*e.op, e.params, in, out, e.loc);
      const auto i = static_cast<std::uint32_t>(&e - graph_.eqns().data());
      for (ValueId v : graph_.operands(e)) first_reader_[v] = std::min(first_reader_[v], i);
    });
  }

  void settle(ValueId v) {
    if (guards_[v].is_empty()) return;
    cotangents_[v] = guarded(cotangents_[v], guards_[v]);
    guards_[v] = {};
  }

  /// Where both hold, the same value for the same two, so that their sums stay under one condition.
  std::optional<Guard> meet(const Guard& a, const Guard& b) {
    if (a.is_empty() || b.is_empty() || a.has_condition_of(b)) return both(a, b);
    auto& made = meetings_[{a.condition.node(), b.condition.node()}];
    for (const Meeting& m : made)
      if (m.a == a && m.b == b) return m.both;
    made.push_back({a, b, *both(a, b)});
    return made.back().both;
  }

  /// Each branch gets the cotangent as it is, and counts where it was chosen.
  void transpose_select(const Eqn& e) {
    const auto ids = graph_.operands(e);
    const Array ct = std::move(cotangents_[e.first_result]);
    const Guard guard = std::move(guards_[e.first_result]);
    Repeated condition = without_repetition(graph_, ids[0]);
    Array chosen = values_[condition.source];
    if (chosen.size() == 1) {  // one choice for all elements, whatever the shape
      chosen = lax::reshape(chosen, {});
      condition.axes = {};
    }
    const std::optional<bool> known = known_condition(chosen);
    for (const std::size_t k : {1, 2}) {
      const bool when = k == 1;
      if (!linear_[ids[k]]) continue;
      if (known && *known != when) {
        unchosen_[ids[k]] = 1;
        continue;
      }
      const auto where = known ? guard : meet(guard, {chosen, condition.axes, when});
      if (where) add(ids[k], ct, *where);
    }
  }

  /// Zeros where the guard does not hold, before what cannot go on without.
  Guard zeroed(const Eqn& e, Guard guard) {
    for (std::uint32_t r = 0; r < e.result_count; ++r) settle(e.first_result + r);
    guard.zeroed = true;
    return guard;
  }

  /// Settles what `e` cannot pass on, and says what the cotangents of its operands are to be guarded with.
  Guard guard_through(const Eqn& e) {
    const ValueId first = e.first_result, end = first + e.result_count;
    Guard common;
    bool any = false, same = true;
    for (ValueId v = first; v < end; ++v) {
      if (cotangents_[v].is_empty()) continue;
      same = same && (!any || guards_[v] == common);
      common = guards_[v];
      any = true;
    }
    const OpKind kind = e.op->kind;
    const bool whole = common.is_empty() || common.is_scalar();
    if (e.op->takes_conditions &&
        (!(same && whole) || (!common.is_empty() && (makes_lists(e) || continues_sums(e)))))
      return give(e);
    if (!same || kind == OpKind::Collective) return zeroed(e, common), Guard();
    if (!whole && kind != OpKind::Elementwise) return guard_along(e, common);
    if (common.is_empty()) return {};
    if (has_regions(e) || kind == OpKind::Custom) {
      common = zeroed(e, common);
      common.zeroed = false;
      return common;
    }
    // Zero times a factor need not be zero.
    const bool factor = std::ranges::any_of(
        graph_.operands(e), [&](ValueId v) { return !linear_[v] && is_floating(graph_.aval(v).dtype()); });
    common.zeroed = common.zeroed && !factor;
    if (kind == OpKind::Elementwise) return common;
    if (std::ranges::none_of(graph_.operands(e), [&](ValueId v) { return grows(e, v); })) return common;
    // Zeros now are cheaper than in the large result: both factors of a product, nothing else multiplies.
    for (Array& a : operands_)
      if (kind == OpKind::Contract && !a.is_empty()) a = guarded(a, common);
    return zeroed(e, common);
  }

  /// Whether the cotangent of operand `v` is a large array, larger than those that it is made of.
  bool grows(const Eqn& e, ValueId v) const {
    std::int64_t size = 0;
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      size = std::max(size, graph_.aval(e.first_result + r).shape().product());
    return is_large(v) && (graph_.aval(v).shape().product() > size || e.op->kind == OpKind::Index);
  }

  /// Whether some cotangents of its operands are lists.
  bool makes_lists(const Eqn& e) const {
    return std::ranges::any_of(graph_.operands(e),
                               [&](ValueId v) { return linear_[v] && graph_.aval(v).is_list(); });
  }

  /// Whether its rule adds to sums that count everywhere: only what it adds is under the condition.
  bool continues_sums(const Eqn& e) const {
    return std::ranges::any_of(graph_.operands(e), [&](ValueId v) {
      return is_large(v) && !cotangents_[v].is_empty() && guards_[v].is_empty();
    });
  }

  /// The rule gets the cotangents as they are, with the conditions. What it returns counts where one of them
  /// does, if all have one for the whole array.
  Guard give(const Eqn& e) {
    given_.resize(e.result_count);
    Guard all;
    bool first = true;
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      const Guard& guard = guards_[e.first_result + r];
      if (!cotangents_[e.first_result + r].is_empty()) {
        const Guard whole = guard.is_empty() || guard.is_scalar() ? guard : Guard();
        all = std::exchange(first, false) ? whole : either(all, whole);
      }
      if (guard.is_empty()) continue;
      given_[r] = {{}, guard.axes};
      for (std::uint32_t before = 0; before < r; ++before)
        if (guards_[e.first_result + before] == guard) given_[r] = given_[before];
      if (given_[r].holds.is_empty()) given_[r].holds = holds(guard);
    }
    std::fill_n(guards_.begin() + e.first_result, e.result_count, Guard());
    all.zeroed = true;
    return all;
  }

  /// The guard for all operands of which there will be cotangents, if it is one.
  std::optional<Guard> guard_for_operands(const Eqn& e, const Guard& guard) const {
    std::optional<Guard> common;
    const auto ids = graph_.operands(e);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (!linear_[ids[k]]) continue;
      std::optional<Guard> own = guard_for_operand(graph_, e, k, guard);
      if (!own || (common && own->axes != common->axes)) return std::nullopt;
      if (!common) common = std::move(own);
    }
    return common;
  }

  /// Of a condition for some axes: it goes the way of the cotangent if entries along these do not meet. If
  /// they do, zeros are added up; of a product, made with zeros in the other factor too.
  Guard guard_along(const Eqn& e, const Guard& guard) {
    const auto ids = graph_.operands(e);
    if (std::optional<Guard> common = guard_for_operands(e, guard)) {
      if (e.op->kind == OpKind::Contract)
        common->zeroed = false;
      else if (std::ranges::any_of(ids, [&](ValueId v) { return grows(e, v); }))
        common = zeroed(e, *common);
      return *common;
    }
    if (e.op->kind == OpKind::View || (e.op->kind == OpKind::Reduce && e.op->moves_cotangents))
      return laid_out(e, guard);
    const auto others = ids.subspan(std::min<std::size_t>(e.op->moves_cotangents, ids.size()));
    if (e.op->moves_cotangents && std::ranges::none_of(others, [&](ValueId v) { return linear_[v] != 0; })) {
      for (Array& holds : moved(e, holds_in(guard, graph_.aval(e.first_result).shape())))
        moved_conditions_.push_back(AxesCondition::for_first_axes(std::move(holds)));
      return {};
    }
    for (std::size_t k = 0; k < ids.size() && e.op->kind == OpKind::Contract; ++k)
      if (const auto factor = guard_for_operand(graph_, e, k, guard); factor && !linear_[ids[k]])
        operands_[k] = guarded(operands_[k], *factor);
    zeroed(e, guard);
    return {};
  }

  /// A condition by element is only laid out anew, or added up where the elements of the cotangent were
  /// repeated.
  Guard laid_out(const Eqn& e, const Guard& guard) {
    const ValueId operand = graph_.operands(e)[0];
    const Shape &shape = graph_.aval(operand).shape(), &repeated = graph_.aval(e.first_result).shape();
    if (e.op->view_kind != ViewKind::Repeated)
      return {moved(e, holds_in(guard, repeated))[0], Dims::counting(shape.size()), true, guard.zeroed};
    zeroed(e, guard);
    Guard found;
    Dims added;
    const Dims& axes = e.params.as<BroadcastParams>().axes;
    for (std::size_t i = 0; i < guard.axes.size(); ++i) {
      const std::int64_t axis = guard.axes[i], of = std::ranges::find(axes, axis) - axes.begin();
      const auto at = static_cast<std::size_t>(of);
      if (at < axes.size() && shape[at] == repeated[static_cast<std::size_t>(axis)])
        found.axes.push_back(of);
      else
        added.push_back(static_cast<std::int64_t>(i));
    }
    found.condition = lax::reduce_or(holds(guard), added);
    found.zeroed = true;
    return found;
  }

  bool is_large(ValueId v) const {
    return linear_[v] && !graph_.aval(v).is_list() && graph_.aval(v).bytes() > small_sum;
  }

  /// An equation with regions that reads a large array of which there is no cotangent yet leaves that to the
  /// other readers, and goes on from their sum.
  bool waits(std::uint32_t i) {
    const Eqn& e = graph_.eqns()[i];
    if (!has_regions(e)) return false;
    const auto first_of_several = [&](ValueId v) {
      return is_large(v) && cotangents_[v].is_empty() && first_reader_[v] < i;
    };
    if (std::ranges::none_of(graph_.operands(e), first_of_several)) return false;
    for (ValueId v : graph_.operands(e)) awaited_[v] = linear_[v];
    waiting_.push_back(i);
    return true;
  }

  void transpose_waiting() {
    if (waiting_.empty()) return;
    for (std::uint32_t i : waiting_) transpose(graph_.eqns()[i]);
    waiting_.clear();
    std::ranges::fill(awaited_, 0);
  }

  void transpose(const Eqn& e) {
    const std::span<Array> of_results{cotangents_.data() + e.first_result, e.result_count};
    if (std::ranges::all_of(of_results, [](const Array& a) { return a.is_empty(); }))
      return leave_unchosen(e);
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (unchosen_[e.first_result + r]) use_parts(e.first_result + r);
    if (!e.op->transpose) fail(messages::no_transpose, {e.op->name}, e.loc);
    ScopeOf scope(e.scope);
    LocScope place(e.loc);
    if (e.op->chooses) return transpose_select(e);
    const auto ids = graph_.operands(e);
    if (ids.size() > mask_size_) mask_.reset(new bool[mask_size_ = ids.size()]);
    operands_.assign(ids.size(), {});
    out_.assign(ids.size(), {});
    sums_.assign(ids.size(), {});
    conditions_.assign(ids.size(), {});
    taken_.assign(ids.size(), 0);
    avals_.clear();
    given_.clear();
    for (std::size_t k = 0; k < ids.size(); ++k) {
      mask_[k] = linear_[ids[k]];
      if (!mask_[k]) operands_[k] = values_[ids[k]];
      avals_.push_back(graph_.aval(ids[k]));
    }
    Slice slice;
    if (e.op->view_kind == ViewKind::Part) slice = {&e, guards_[e.first_result]};
    const Guard guard = guard_through(e);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const Guard& held = guards_[ids[k]];
      // What a rule adds to a sum without condition has none itself, or the rule knows where it counts.
      const bool may_continue = held == guard || (held.is_empty() && !given_.empty());
      if (!is_large(ids[k]) || !may_continue) continue;
      sums_[k] = std::exchange(cotangents_[ids[k]], {});
      taken_[k] = !sums_[k].is_empty();
    }
    e.op->transpose({e.params,
                     operands_,
                     avals_,
                     {mask_.get(), ids.size()},
                     of_results,
                     out_,
                     sums_,
                     conditions_,
                     given_});
    if (!moved_conditions_.empty()) conditions_ = std::exchange(moved_conditions_, {});
    std::ranges::fill(of_results, Array());
    std::fill_n(guards_.begin() + e.first_result, e.result_count, Guard());
    for (std::size_t k = 0; k < ids.size(); ++k)
      if (!sums_[k].is_empty()) cotangents_[ids[k]] = std::move(sums_[k]), taken_[k] = 0;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (out_[k].is_empty() || !mask_[k]) continue;
      note_lanes(out_[k], graph_.lanes(ids[k]));
      // What was added to a sum is no longer apart from it, and counts where the sum does.
      Guard own = taken_[k] ? guards_[ids[k]] : out_[k].aval().is_list() && given_.empty() ? Guard() : guard;
      own.zeroed = own.zeroed && guard.zeroed;
      if (!given_.empty() && !conditions_[k].holds.is_empty()) own = {};  // it knows better
      const auto where = meet(own, guard_of(conditions_[k]));
      if (where) add(ids[k], out_[k], *where, slice);
    }
  }

  const Graph& graph_;
  std::vector<Array> values_, cotangents_;
  std::vector<Guard> guards_;                    // of the cotangents
  std::vector<char> linear_, awaited_;           // by value; awaited: what a waiting equation reads
  std::vector<std::uint32_t> first_reader_;      // by value, of the linear equations
  std::vector<std::uint32_t> waiting_;           // equations, the last of the program first
  std::vector<Array> operands_, out_, sums_;     // of the equation at hand
  std::vector<AxesCondition> conditions_;        // the same
  std::vector<char> taken_;                      // sums that its rule went on from
  std::vector<AxesCondition> given_;             // by result, if there are any
  std::vector<AxesCondition> moved_conditions_;  // for `conditions_`, where the equation moves them
  std::unordered_map<ValueId, Parts> parts_;
  struct Meeting {
    Guard a, b, both;
  };
  std::map<std::pair<const void*, const void*>, std::vector<Meeting>> meetings_;  // by conditions
  std::vector<char> unchosen_;  // by value: some reader is in a branch that is known not to be chosen
  bool chooses_ = false;        // whether there may be conditions
  std::vector<Aval> avals_;
  std::unique_ptr<bool[]> mask_;
  std::size_t mask_size_ = 0;
};

/// `conditional` says by linear input whether the cotangent may come with a condition, which is then put into
/// `conditions`; else it is zero where it does not count.
std::vector<Array> pulled_back(const Graph& graph, const std::vector<bool>& linear,
                               std::span<const Array> inputs, std::span<const Array> cotangents,
                               std::span<const Array> sums, std::span<const Conditional> conditional,
                               std::span<Array> conditions, std::span<const Guard> given,
                               std::span<const Guard> of_sums) {
  Backward backward(graph, linear, inputs);
  for (ValueId v = 0, k = 0; v < graph.input_count() && k < sums.size(); ++v) {
    if (!linear[v]) continue;
    if (!sums[k].is_empty()) backward.start_sum(v, sums[k], k < of_sums.size() ? of_sums[k] : Guard());
    ++k;
  }
  const auto outputs = graph.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    backward.add_to_output(outputs[i], cotangents[i], i < given.size() ? given[i] : Guard());
  backward.run();
  std::vector<Array> result;
  for (ValueId v = 0, k = 0; v < graph.input_count(); ++v) {
    if (!linear[v]) continue;
    if (!conditional.empty()) conditions[k] = backward.take_condition(v, conditional[k]);
    result.push_back(backward.cotangent(v));
    ++k;
  }
  return result;
}

}  // namespace

std::vector<Array> backward_pass(const Graph& graph, const std::vector<bool>& linear,
                                 std::span<const Array> inputs, std::span<const Array> cotangents) {
  return pulled_back(graph, linear, inputs, cotangents, {}, {}, {}, {}, {});
}

GraphRef transpose_graph(const Graph& graph, const std::vector<bool>& linear,
                         const std::vector<bool>& ct_mask, const std::vector<bool>& instantiate,
                         std::vector<bool>& out_mask, const std::vector<bool>& sum_mask,
                         std::span<const Conditional> conditional, const GivenConditions& given) {
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (!linear[v]) avals.push_back(graph.aval(v));
  for (std::size_t i = 0; i < ct_mask.size(); ++i)
    if (ct_mask[i]) avals.push_back(graph.aval(graph.outputs()[i]));
  for (ValueId v = 0, k = 0; v < graph.input_count() && !sum_mask.empty(); ++v)
    if (linear[v] && sum_mask[k++]) avals.push_back(graph.aval(v));
  avals.insert(avals.end(), given.avals.begin(), given.avals.end());
  auto body = [&](std::span<const Array> in) {
    std::vector<Array> inputs(graph.input_count()), cts(ct_mask.size()), sums(sum_mask.size());
    std::size_t next = 0;
    for (ValueId v = 0; v < graph.input_count(); ++v)
      if (!linear[v]) inputs[v] = in[next++];
    for (std::size_t i = 0; i < ct_mask.size(); ++i)
      if (ct_mask[i]) cts[i] = in[next++];
    for (std::size_t k = 0; k < sum_mask.size(); ++k)
      if (sum_mask[k]) sums[k] = in[next++];
    const auto guards_for = [&](std::span<const GivenConditions::Use> uses) {
      std::vector<Guard> guards(uses.size());
      for (std::size_t i = 0; i < uses.size(); ++i)
        if (uses[i].which >= 0)
          guards[i] = {in[next + static_cast<std::size_t>(uses[i].which)], uses[i].axes};
      return guards;
    };
    const std::vector<Guard> guards = guards_for(given.of_outputs), of_sums = guards_for(given.of_sums);
    std::vector<Array> conditions(conditional.size()), outs;
    const std::vector<Array> found =
        pulled_back(graph, linear, inputs, cts, sums, conditional, conditions, guards, of_sums);
    out_mask.assign(found.size() + conditions.size(), false);
    std::vector<Shape> shapes;
    for (ValueId v = 0, k = 0; v < graph.input_count(); ++v) {
      if (!linear[v]) continue;
      shapes.push_back(graph.aval(v).shape());
      out_mask[k] = !found[k].is_empty() || instantiate[k];
      if (out_mask[k]) outs.push_back(found[k].is_empty() ? lax::full_like(graph.aval(v), 0) : found[k]);
      ++k;
    }
    for (std::size_t k = 0; k < conditions.size(); ++k) {
      const std::size_t out = found.size() + k;
      out_mask[out] = !conditions[k].is_empty() || instantiate[out];
      if (!out_mask[out]) continue;
      // A cotangent that is nothing does not count.
      if (conditions[k].is_empty())
        conditions[k] = lax::full(first_axes(shapes[k], conditional[k]), Dtype::Bool, !found[k].is_empty());
      outs.push_back(conditions[k]);
    }
    return outs;
  };
  return stage_with(body, avals, "transpose").graph;
}

}  // namespace apsis::detail
