#include "transform/derivatives/transpose.hpp"

#include <algorithm>
#include <utility>

#include "ir/interpret_with.hpp"
#include "ir/regions.hpp"
#include "ops/lax.hpp"
#include "ops/view_params.hpp"
#include "transform/batch/derived.hpp"
#include "transform/derivatives/cotangents.hpp"
#include "transform/stage/messages.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

namespace {

bool has_regions(const Eqn& e) {
  bool found = false;
  each_region(e.params, [&](const Graph&) { found = true; });
  return found;
}

/// Walks a graph from the last equation to the first, and adds up the cotangents of its values.
class Backward {
 public:
  Backward(const Graph& graph, const std::vector<bool>& linear, std::span<const Array> inputs)
      : graph_(graph),
        values_(graph.value_count()),
        linear_(graph.value_count(), 0),
        cotangents_(graph, linear_),
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
    cotangents_.settle(v);
    return cotangents_.sum(v);
  }

  Array take_condition(ValueId v, Conditional kind) { return cotangents_.take_condition(v, kind); }

  /// Nothing that `e` makes is used but by branches that are known not to be chosen, if at all.
  void leave_unchosen(const Eqn& e) {
    char unchosen = 0;
    for (std::uint32_t r = 0; r < e.result_count; ++r) unchosen |= unchosen_[e.first_result + r];
    if (!unchosen) return;
    for (ValueId v : graph_.operands(e)) unchosen_[v] = 1;
  }

  /// What the cotangent of an input or output is before the walk.
  void start(ValueId v, const Array& cotangent, const Guard& guard) {
    if (!guard.is_empty()) cotangents_.expect_conditions();
    if (linear_[v] && !cotangent.is_empty()) cotangents_.add(v, cotangent, guard);
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
      if (e.op->chooses) cotangents_.expect_conditions();
      std::fill_n(linear_.begin() + e.first_result, e.result_count, depends);
      if (!depends) return bind(*e.op, e.params, in, out, e.loc);
      const auto i = static_cast<std::uint32_t>(&e - graph_.eqns().data());
      for (ValueId v : graph_.operands(e)) first_reader_[v] = std::min(first_reader_[v], i);
    });
  }

  /// Each branch gets the cotangent as it is, and counts where it was chosen.
  void transpose_select(const Eqn& e) {
    const auto ids = graph_.operands(e);
    const Array ct = cotangents_.take(e.first_result);
    const Guard guard = cotangents_.take_guard(e.first_result);
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
      const auto where = known ? guard : cotangents_.meet(guard, {chosen, condition.axes, when});
      if (where) cotangents_.add(ids[k], ct, *where);
    }
  }

  /// Zeros where the guard does not hold, before what cannot go on without.
  Guard zeroed(const Eqn& e, Guard guard) {
    for (std::uint32_t r = 0; r < e.result_count; ++r) cotangents_.settle(e.first_result + r);
    guard.zeroed = true;
    return guard;
  }

  /// Settles what `e` cannot pass on, and says what the cotangents of its operands are to be guarded with.
  Guard guard_through(const Eqn& e) {
    const ValueId first = e.first_result, end = first + e.result_count;
    Guard common;
    bool any = false, same = true;
    for (ValueId v = first; v < end; ++v) {
      if (cotangents_.is_zero(v)) continue;
      same = same && (!any || cotangents_.guard(v) == common);
      common = cotangents_.guard(v);
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
      return is_large(v) && !cotangents_.is_zero(v) && cotangents_.guard(v).is_empty();
    });
  }

  /// The rule gets the cotangents as they are, with the conditions. What it returns counts where one of them
  /// does, if all have one for the whole array.
  Guard give(const Eqn& e) {
    given_.resize(e.result_count);
    std::vector<Guard> guards(e.result_count);
    Guard all;
    bool first = true;
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      const Guard guard = cotangents_.take_guard(e.first_result + r);
      if (!cotangents_.is_zero(e.first_result + r)) {
        const Guard whole = guard.is_empty() || guard.is_scalar() ? guard : Guard();
        all = std::exchange(first, false) ? whole : either(all, whole);
      }
      if (guard.is_empty()) continue;
      given_[r] = {{}, guard.axes};
      for (std::uint32_t before = 0; before < r; ++before)
        if (guards[before] == guard) given_[r] = given_[before];
      if (given_[r].holds.is_empty()) given_[r].holds = holds(guard);
      guards[r] = guard;
    }
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
    const bool view =
        e.op->kind == OpKind::View && graph_.aval(ids[0]).dtype() == graph_.aval(e.first_result).dtype();
    if (view || (e.op->kind == OpKind::Reduce && e.op->moves_cotangents)) return laid_out(e, guard);
    const auto others = ids.subspan(std::min<std::size_t>(e.op->moves_cotangents, ids.size()));
    if (e.op->moves_cotangents && std::ranges::none_of(others, [&](ValueId v) { return linear_[v] != 0; })) {
      for (Array& holds : cotangents_.moved(e, holds_in(guard, graph_.aval(e.first_result).shape())))
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
      return {cotangents_.moved(e, holds_in(guard, repeated))[0], Dims::counting(shape.size()), true,
              guard.zeroed};
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
      return is_large(v) && cotangents_.is_zero(v) && first_reader_[v] < i;
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
    const std::span<const Array> of_results = cotangents_.of_results(e);
    if (std::ranges::all_of(of_results, [](const Array& a) { return a.is_empty(); }))
      return leave_unchosen(e);
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (unchosen_[e.first_result + r]) cotangents_.use_parts(e.first_result + r);
    if (!e.op->transpose) fail(messages::no_transpose, {e.op->name}, e.loc);
    ScopeOf scope(e.scope);
    LocScope place(e.loc);
    if (e.op->chooses) return transpose_select(e);
    const auto ids = graph_.operands(e);
    operands_.assign(ids.size(), {});
    for (std::size_t k = 0; k < ids.size(); ++k)
      if (!linear_[ids[k]]) operands_[k] = values_[ids[k]];
    given_.clear();
    moved_conditions_.clear();
    Slice slice;
    if (e.op->view_kind == ViewKind::Part) slice = {&e, cotangents_.guard(e.first_result)};
    const Guard guard = guard_through(e);
    hand_out(e, guard);
    e.op->transpose({e.params, operands_, of_results, out_, given_});
    cotangents_.drop(e);
    take_back(e, guard, slice);
  }

  /// The accumulators that the rule of `e` adds to, each with the sum of a large array that it may go on
  /// from.
  void hand_out(const Eqn& e, const Guard& guard) {
    out_.clear();
    taken_.clear();
    for (ValueId v : graph_.operands(e)) {
      const Guard& held = cotangents_.guard(v);
      // What a rule adds to a sum without condition has none itself, or the rule knows where it counts.
      const bool may_continue = held == guard || (held.is_empty() && !given_.empty());
      Array sum = is_large(v) && may_continue ? cotangents_.take(v) : Array();
      taken_.push_back(!sum.is_empty());
      out_.emplace_back(linear_[v] != 0, graph_.aval(v), std::move(sum));
    }
  }

  /// What the rule has added goes to the cotangents of the operands.
  void take_back(const Eqn& e, const Guard& guard, const Slice& slice) {
    const auto ids = graph_.operands(e);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (!out_[k].has_sum()) continue;
      cotangents_.put_back(ids[k], out_[k].take_sum());
      taken_[k] = 0;
    }
    for (std::size_t k = 0; k < ids.size(); ++k) {
      for (const auto& [cotangent, condition] : out_[k].terms()) {
        note_lanes(cotangent, graph_.lanes(ids[k]));
        // What was added to a sum is no longer apart from it, and counts where the sum does.
        Guard own = taken_[k]                                      ? cotangents_.guard(ids[k])
                    : cotangent.aval().is_list() && given_.empty() ? Guard()
                                                                   : guard;
        own.zeroed = own.zeroed && guard.zeroed;
        if (!given_.empty() && !condition.holds.is_empty()) own = {};  // it knows better
        const AxesCondition& holds = moved_conditions_.empty() ? condition : moved_conditions_[k];
        if (const auto where = cotangents_.meet(own, guard_of(holds)))
          cotangents_.add(ids[k], cotangent, *where, slice);
      }
    }
  }

  const Graph& graph_;
  std::vector<Array> values_;
  std::vector<char> linear_;  // by value
  Cotangents cotangents_;
  std::vector<char> awaited_;                    // by value: what a waiting equation reads
  std::vector<std::uint32_t> first_reader_;      // by value, of the linear equations
  std::vector<std::uint32_t> waiting_;           // equations, the last of the program first
  std::vector<char> unchosen_;                   // by value: some reader is in a branch that is not chosen
  std::vector<Array> operands_;                  // of the equation at hand
  std::vector<Accumulator> out_;                 // the same
  std::vector<char> taken_;                      // by operand: its rule went on from the sum
  std::vector<AxesCondition> given_;             // by result, if there are any
  std::vector<AxesCondition> moved_conditions_;  // by operand, where the equation moves them
};

/// What the inputs of a transposed graph are, or those of `backward_pass`.
struct PullBack {
  std::vector<Array> inputs;      // by input of the graph; empty for the linear ones
  std::vector<Array> cotangents;  // by output
  std::vector<Guard> guards;      // the same, for the first ones or all
  std::vector<Array> sums;        // by linear input, or none at all
  std::vector<Guard> of_sums;     // the same
};

/// The cotangent of a linear input, and the condition it comes with if that was asked for.
struct Pulled {
  Array cotangent, condition;
};

/// By linear input.
std::vector<Pulled> pulled_back(const Graph& graph, const std::vector<bool>& linear, const PullBack& from,
                                std::span<const Conditional> conditional) {
  Backward backward(graph, linear, from.inputs);
  std::vector<ValueId> linear_inputs;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (linear[v]) linear_inputs.push_back(v);
  for (std::size_t k = 0; k < from.sums.size(); ++k)
    backward.start(linear_inputs[k], from.sums[k], k < from.of_sums.size() ? from.of_sums[k] : Guard());
  const auto outputs = graph.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    backward.start(outputs[i], from.cotangents[i], i < from.guards.size() ? from.guards[i] : Guard());
  backward.run();
  std::vector<Pulled> result;
  for (std::size_t k = 0; k < linear_inputs.size(); ++k) {
    const ValueId v = linear_inputs[k];
    const Array condition = conditional.empty() ? Array() : backward.take_condition(v, conditional[k]);
    result.push_back({backward.cotangent(v), condition});
  }
  return result;
}

/// The inputs of the transposed graph, from the list of all.
class PullBackInputs {
 public:
  PullBackInputs(const Graph& graph, const TransposeRequest& request) : graph_(graph), request_(request) {}

  std::vector<Aval> avals() const {
    std::vector<Aval> found;
    for (ValueId v = 0; v < graph_.input_count(); ++v)
      if (!request_.linear[v]) found.push_back(graph_.aval(v));
    for (std::size_t i = 0; i < request_.cotangents.size(); ++i)
      if (request_.cotangents[i]) found.push_back(graph_.aval(graph_.outputs()[i]));
    for (ValueId v = 0, k = 0; v < graph_.input_count() && !request_.sums.empty(); ++v)
      if (request_.linear[v] && request_.sums[k++]) found.push_back(graph_.aval(v));
    found.insert(found.end(), request_.given.avals.begin(), request_.given.avals.end());
    return found;
  }

  PullBack operator()(std::span<const Array> in) const {
    const auto take = [&](const std::vector<bool>& marks, bool mark) {
      std::vector<Array> found(marks.size());
      for (std::size_t i = 0; i < marks.size(); ++i) {
        if (marks[i] != mark) continue;
        found[i] = in[0];
        in = in.subspan(1);
      }
      return found;
    };
    PullBack found{.inputs = take(request_.linear, false),
                   .cotangents = take(request_.cotangents, true),
                   .sums = take(request_.sums, true)};
    found.guards = guards(request_.given.of_outputs, in);
    found.of_sums = guards(request_.given.of_sums, in);
    return found;
  }

 private:
  static std::vector<Guard> guards(std::span<const GivenConditions::Use> uses, std::span<const Array> given) {
    std::vector<Guard> found(uses.size());
    for (std::size_t i = 0; i < uses.size(); ++i)
      if (uses[i].which >= 0) found[i] = {given[static_cast<std::size_t>(uses[i].which)], uses[i].axes};
    return found;
  }

  const Graph& graph_;
  const TransposeRequest& request_;
};

}  // namespace

std::vector<Array> backward_pass(const Graph& graph, const std::vector<bool>& linear,
                                 std::span<const Array> inputs, std::span<const Array> cotangents) {
  const DerivedScope scope;
  std::vector<Array> found;
  for (Pulled& p : pulled_back(
           graph, linear,
           {.inputs = {inputs.begin(), inputs.end()}, .cotangents = {cotangents.begin(), cotangents.end()}},
           {}))
    found.push_back(std::move(p.cotangent));
  return found;
}

namespace {

Transposed stage_transposed(const Graph& graph, const TransposeRequest& request) {
  const PullBackInputs inputs(graph, request);
  const auto wanted = [&](std::size_t i) { return i < request.instantiate.size() && request.instantiate[i]; };
  std::vector<Aval> linear;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (request.linear[v]) linear.push_back(graph.aval(v));
  Transposed result;
  auto body = [&](std::span<const Array> in) {
    std::vector<Array> outs;
    std::vector<Pulled> found = pulled_back(graph, request.linear, inputs(in), request.conditional);
    const std::size_t conditions = request.conditional.size();
    result.out_mask.assign(found.size() + conditions, false);
    for (std::size_t k = 0; k < found.size(); ++k) {
      const Array& cotangent = found[k].cotangent;
      if (cotangent.is_empty() && !wanted(k)) continue;
      result.out_mask[k] = true;
      outs.push_back(cotangent.is_empty() ? lax::full_like(linear[k], 0) : cotangent);
    }
    for (std::size_t k = 0; k < conditions; ++k) {
      const auto& [cotangent, condition] = found[k];
      if (condition.is_empty() && !wanted(found.size() + k)) continue;
      result.out_mask[found.size() + k] = true;
      // A cotangent that is nothing does not count.
      const Shape shape = first_axes(linear[k].shape(), request.conditional[k]);
      outs.push_back(condition.is_empty() ? lax::full(shape, Dtype::Bool, !cotangent.is_empty()) : condition);
    }
    return outs;
  };
  result.graph = stage_with(body, inputs.avals(), "transpose").graph;
  return result;
}

DerivedKey key_of(const Graph& graph, const TransposeRequest& request) {
  DerivedKey key(Derivation::Transpose, graph);
  key.add(request.linear);
  key.add(request.cotangents);
  key.add(request.instantiate);
  key.add(request.sums);
  key.add(static_cast<std::int64_t>(request.conditional.size()));
  for (const Conditional& c : request.conditional) key.add(c.axes);
  key.add(request.given.avals);
  for (const auto* uses : {&request.given.of_outputs, &request.given.of_sums}) {
    key.add(static_cast<std::int64_t>(uses->size()));
    for (const GivenConditions::Use& use : *uses) {
      key.add(use.which);
      key.add(use.axes);
    }
  }
  return key;
}

}  // namespace

Transposed transpose_graph(const Graph& graph, const TransposeRequest& request) {
  return derived_once(key_of(graph, request), [&] { return stage_transposed(graph, request); });
}

}  // namespace apsis::detail
