#include "passes/split_phases.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/equation_sets.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t smallest = 1 << 12;  // elements of an array; below, more loops take longer
constexpr std::int64_t shortest_run = 64;   // elements that a long loop writes one behind the other
constexpr std::int64_t most_apart = 4;      // places between neighbours that loops load as vectors
constexpr std::int64_t most_phases = 9;     // those of windows of three by three
constexpr std::int64_t most_code = 1500;    // instructions of all phases

/// Pads with values between elements, and elementwise equations of their shape that depend on them.
struct Group {
  std::vector<const Eqn*> eqns;
  Dims steps;                                              // by axis; empty: not split
  std::unordered_map<ValueId, std::vector<ValueId>> made;  // phases of values
};

class Splitting {
 public:
  explicit Splitting(const Graph& graph)
      : graph_(graph), sets_(graph), read_elsewhere_(graph.value_count(), 0) {}

  /// Whether there is a group to split.
  bool plan();
  GraphRef run();

 private:
  static constexpr std::uint32_t none = EquationSets::none;

  bool is_apart(const Eqn& e) const;
  bool is_member(const Eqn& e) const;
  std::uint32_t number(const Eqn& e) const { return static_cast<std::uint32_t>(&e - graph_.eqns().data()); }
  const Shape& shape_of(const Group& group) const { return graph_.aval(group.eqns[0]->first_result).shape(); }
  void find_groups();
  Dims steps_of(const Group& group) const;
  bool is_worth(const Group& group) const;
  Dims phase(const Group& group, std::int64_t k) const;
  ValueId phase_of_pad(const Group& group, const Eqn& pad, std::int64_t k);
  ValueId phase_of(Group& group, ValueId v, std::int64_t k, Loc loc);
  ValueId slice(ValueId whole, const SliceParams& of, Loc loc) {
    return append1(builder_, slice_op, make_params(of), {&whole, 1}, loc);
  }
  ValueId as(ValueId v, const Shape& shape, Loc loc) {
    return append1(builder_, reshape_op, make_params(ReshapeParams{shape}), {&v, 1}, loc);
  }
  ValueId joined(const Group& group, std::vector<ValueId> phases, Loc loc);

  const Graph& graph_;
  EquationSets sets_;
  std::vector<std::uint32_t> group_of_;  // by equation: the number of its set
  std::vector<char> read_elsewhere_;     // by value: not by a member of a group
  std::vector<Group> groups_;            // by number
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

/// A pad with values between elements, and nothing of the array left out.
bool Splitting::is_apart(const Eqn& e) const {
  if (e.op != &pad_op) return false;
  const auto& p = e.params.as<PadParams>();
  const auto operands = graph_.operands(e);
  const Aval& to = graph_.aval(e.first_result);
  const auto some = [](std::int64_t n) { return n >= 0; };
  return std::ranges::any_of(p.interior, [](std::int64_t n) { return n > 0; }) &&
         std::ranges::all_of(p.low, some) && std::ranges::all_of(p.high, some) && to.size() >= smallest &&
         graph_.aval(operands[0]).size() > 0 && !is_complex(to.dtype()) && item_size(to.dtype()) >= 4 &&
         graph_.aval(operands[0]).weak() == to.weak() && graph_.aval(operands[1]).weak() == to.weak();
}

bool Splitting::is_member(const Eqn& e) const {
  if (e.op->kind != OpKind::Elementwise || e.result_count != 1 || !fusible(graph_, e) ||
      has_effect(*e.op, e.params))
    return false;
  const Aval& aval = graph_.aval(e.first_result);
  return std::ranges::all_of(graph_.operands(e),
                             [&](ValueId v) { return graph_.aval(v).shape() == aval.shape(); });
}

/// Numbers of groups by equation: pads, and members that depend on some, are of one group with those that
/// they read.
void Splitting::find_groups() {
  const auto eqns = graph_.eqns();
  const auto in_group = [&](ValueId v) {
    const Eqn* made = graph_.definition(v);
    return made && sets_.contains(number(*made));
  };
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    const auto operands = graph_.operands(eqns[i]);
    const bool depends = std::ranges::any_of(operands, in_group);
    if (is_apart(eqns[i])) sets_.add(i);
    if (!depends || !is_member(eqns[i])) {
      for (ValueId v : operands) read_elsewhere_[v] = 1;
      continue;
    }
    sets_.add(i);
    for (ValueId v : operands)
      if (in_group(v)) sets_.join(i, number(*graph_.definition(v)));
  }
  for (ValueId v : graph_.outputs()) read_elsewhere_[v] = 1;
  group_of_ = sets_.numbered();
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    const std::uint32_t g = group_of_[i];
    if (g == none) continue;
    if (g == groups_.size()) groups_.emplace_back();
    groups_[g].eqns.push_back(&eqns[i]);
  }
}

/// By axis: how far the elements of all pads are apart; none: there is no such number, or some of an axis is
/// left over.
Dims Splitting::steps_of(const Group& group) const {
  const Shape& shape = shape_of(group);
  Dims steps = Dims::filled(shape.size(), 1);
  for (const Eqn* e : group.eqns)
    if (is_apart(*e))
      for (std::size_t d = 0; d < shape.size(); ++d)
        steps[d] = std::max(steps[d], e->params.as<PadParams>().interior[d] + 1);
  for (const Eqn* e : group.eqns) {
    if (!is_apart(*e)) continue;
    const auto& p = e->params.as<PadParams>();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool whole = p.interior[d] == 0 && p.low[d] == 0 && p.high[d] == 0;
      if (p.interior[d] + 1 != steps[d] && !whole) return {};
    }
  }
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] % steps[d] != 0) return {};
  return steps;
}

/// Whether phases have long rows or lie as columns side by side, and the code stays short.
bool Splitting::is_worth(const Group& group) const {
  if (group.steps.empty() || group.steps.product() > most_phases || group.steps.back() > most_apart)
    return false;
  const Shape& shape = shape_of(group);
  std::int64_t code = 0, run = 1;
  for (const Eqn* e : group.eqns) code += is_apart(*e) ? 0 : emission_cost(graph_, *e);
  for (std::size_t d = shape.size(); d-- > 0 && group.steps[d] == 1;) run *= shape[d];
  return code * group.steps.product() <= most_code &&
         (group.steps.back() > 1 ? shape.back() / group.steps.back() : run) >= shortest_run;
}

bool Splitting::plan() {
  find_groups();
  bool any = false;
  for (Group& group : groups_) {
    group.steps = steps_of(group);
    if (!is_worth(group)) group.steps = {};
    any = any || !group.steps.empty();
  }
  return any;
}

/// The places of the k-th phase's first element.
Dims Splitting::phase(const Group& group, std::int64_t k) const {
  Dims first = group.steps;
  for (std::size_t d = first.size(); d-- > 0; k /= group.steps[d]) first[d] = k % group.steps[d];
  return first;
}

/// The array, with whole steps around it, or the value that it is padded with.
ValueId Splitting::phase_of_pad(const Group& group, const Eqn& pad, std::int64_t k) {
  const auto& p = pad.params.as<PadParams>();
  const Shape& from = graph_.aval(graph_.operands(pad)[0]).shape();
  const Dims first = phase(group, k);
  Shape shape = shape_of(group);
  SliceParams of{Dims::filled(shape.size(), 0), from, Dims::filled(shape.size(), 1)};
  PadParams around{of.start, of.start, of.start};
  bool some = true, sliced = false, padded = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t step = group.steps[d];
    shape[d] /= step;
    if (step > 1 && p.interior[d] == 0) {
      of.start[d] = first[d];
      of.stride[d] = step;
      sliced = true;
      continue;
    }
    some = some && p.low[d] % step == first[d];
    around.low[d] = p.low[d] / step;
    around.high[d] = shape[d] - from[d] - around.low[d];
    padded = padded || around.low[d] > 0 || around.high[d] > 0;
  }
  const ValueId value = copy_[graph_.operands(pad)[1]];
  if (!some)
    return append1(builder_, broadcast_in_dim_op, make_params(BroadcastParams{shape, {}}), {&value, 1},
                   pad.loc);
  ValueId array = copy_[graph_.operands(pad)[0]];
  if (sliced) array = slice(array, of, pad.loc);
  return padded ? append1(builder_, pad_op, make_params(around), {{array, value}}, pad.loc) : array;
}

ValueId Splitting::phase_of(Group& group, ValueId v, std::int64_t k, Loc loc) {
  std::vector<ValueId>& phases = group.made[v];
  for (auto next = std::ssize(phases); next < group.steps.product(); ++next) {
    const Dims first = phase(group, next);
    Dims behind = shape_of(group);
    for (std::size_t d = 0; d < behind.size(); ++d) behind[d] += first[d] + 1 - group.steps[d];
    phases.push_back(slice(copy_[v], {first, behind, group.steps}, loc));
  }
  return phases[static_cast<std::size_t>(k)];
}

/// The phases beside one another, in an axis behind each of those that have steps.
ValueId Splitting::joined(const Group& group, std::vector<ValueId> phases, Loc loc) {
  Shape one;
  std::vector<std::size_t> axes;  // of steps
  for (std::size_t d = 0; d < group.steps.size(); ++d) {
    one.push_back(shape_of(group)[d] / group.steps[d]);
    if (group.steps[d] == 1) continue;
    axes.push_back(one.size());
    one.push_back(1);
  }
  for (ValueId& v : phases) v = as(v, one, loc);
  std::size_t d = group.steps.size();
  for (; !axes.empty(); axes.pop_back()) {
    while (group.steps[--d] == 1) {
    }
    const auto count = static_cast<std::size_t>(group.steps[d]);
    const ConcatenateParams along{static_cast<std::int64_t>(axes.back())};
    std::vector<ValueId> larger;
    for (std::size_t i = 0; i < phases.size(); i += count)
      larger.push_back(
          append1(builder_, concatenate_op, make_params(along), {phases.data() + i, count}, loc));
    phases = std::move(larger);
  }
  return as(phases[0], shape_of(group), loc);
}

GraphRef Splitting::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    const std::uint32_t g = group_of_[number(e)];
    if (g == none || groups_[g].steps.empty()) {
      copy_.add(e);
      continue;
    }
    Group& group = groups_[g];
    const ScopeOf scope(e.scope);
    std::vector<ValueId> phases;
    for (std::int64_t k = 0; k < group.steps.product(); ++k) {
      if (is_apart(e)) {
        phases.push_back(phase_of_pad(group, e, k));
        continue;
      }
      std::vector<ValueId> operands;
      for (ValueId v : graph_.operands(e)) operands.push_back(phase_of(group, v, k, e.loc));
      phases.push_back(append1(builder_, *e.op, e.params, operands, e.loc));
    }
    if (read_elsewhere_[e.first_result]) copy_[e.first_result] = joined(group, phases, e.loc);
    group.made[e.first_result] = std::move(phases);
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef split_phases(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return e.op == &pad_op; })) {
    Splitting splitting(graph);
    if (splitting.plan()) made = splitting.run();
  }
  return with_regions(*made, split_phases);
}

}  // namespace apsis::detail
