#include "passes/split_at_joins.hpp"

#include <algorithm>
#include <unordered_map>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/equation_sets.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/axis_groups.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t smallest = 1 << 12;  // elements of an array; below, more loops take longer
constexpr std::int64_t shortest_run = 64;   // elements that a long loop writes one behind the other
constexpr std::int64_t packet = 8;          // lanes, whose elements are beside one another
constexpr std::int64_t widest_border = 32;  // entries along an axis of parts that are not taken apart further
constexpr std::int64_t whole_border = 64;   // elements that a loop goes through in vectors and whole lines
constexpr std::size_t most_parts = 9;       // borders and corners of a matrix, and what is inside
constexpr std::int64_t most_code = 1500;    // instructions of all parts

/// A concatenation, or an array with others around it.
bool is_join(const Eqn& e) {
  if (e.op->joins) return true;
  if (e.op != &pad_op) return false;
  const auto& p = e.params.as<PadParams>();
  const auto none = [](std::int64_t n) { return n == 0; };
  const auto some = [](std::int64_t n) { return n >= 0; };
  return std::ranges::all_of(p.interior, none) && std::ranges::all_of(p.low, some) &&
         std::ranges::all_of(p.high, some);
}

/// Elementwise equations of one shape that read one another's results, and joins that only they read.
struct Group {
  std::vector<const Eqn*> eqns, joins;
  std::vector<std::vector<std::int64_t>> cuts;             // by axis: where parts begin, the first at 0
  std::vector<SliceParams> parts;                          // in the order of their places; none: not split
  std::unordered_map<ValueId, std::vector<ValueId>> made;  // parts of values
};

class Splitting {
 public:
  Splitting(const Graph& graph, bool in_lanes)
      : graph_(graph),
        beside_(in_lanes ? packet : 1),
        sets_(graph),
        read_elsewhere_(graph.value_count(), 0) {}

  /// Whether there is a group to split.
  bool plan();
  GraphRef run();

 private:
  static constexpr std::uint32_t none = EquationSets::none;

  bool is_member(const Eqn& e) const;
  std::uint32_t number(const Eqn& e) const { return static_cast<std::uint32_t>(&e - graph_.eqns().data()); }
  void find_groups();
  void add_cuts(const Eqn& join, std::vector<std::vector<std::int64_t>>& cuts) const;
  void find_cuts(Group& group) const;
  bool is_worth(const Group& group) const;
  Group* split_group(const Eqn& e) {
    const std::uint32_t g = group_of_[number(e)];
    return g == none || groups_[g].parts.empty() ? nullptr : &groups_[g];
  }
  ValueId part(Group& group, ValueId v, std::size_t k, Loc loc);
  ValueId part_of_join(const Eqn& join, const SliceParams& of);
  ValueId part_of_pad(const Eqn& pad, const SliceParams& of);
  ValueId slice(ValueId whole, const Shape& shape, const SliceParams& of, Loc loc);
  ValueId joined(const Group& group, std::vector<ValueId> parts, Loc loc);

  const Graph& graph_;
  const std::int64_t beside_;  // elements in memory for each of an array
  EquationSets sets_;
  std::vector<std::uint32_t> group_of_;  // by equation: the number of its set
  std::vector<char> read_elsewhere_;     // by value: not by a member of a group
  std::vector<Group> groups_;            // by number
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

bool Splitting::is_member(const Eqn& e) const {
  if (e.op->kind != OpKind::Elementwise || e.result_count != 1 || e.operand_count == 0 ||
      !fusible(graph_, e) || has_effect(*e.op, e.params))
    return false;
  const Aval& aval = graph_.aval(e.first_result);
  return aval.size() * beside_ >= smallest && std::ranges::all_of(graph_.operands(e), [&](ValueId v) {
           return graph_.aval(v).shape() == aval.shape();
         });
}

/// Numbers of groups by equation: members are of one group with the member or the concatenation that they
/// read.
void Splitting::find_groups() {
  const auto eqns = graph_.eqns();
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    if (is_join(eqns[i]) && graph_.aval(eqns[i].first_result).size() * beside_ >= smallest) sets_.add(i);
    if (!is_member(eqns[i])) {
      for (ValueId v : graph_.operands(eqns[i])) read_elsewhere_[v] = 1;
      continue;
    }
    sets_.add(i);
    for (ValueId v : graph_.operands(eqns[i])) {
      const Eqn* made = graph_.definition(v);
      if (made && sets_.contains(number(*made))) sets_.join(i, number(*made));
    }
  }
  for (ValueId v : graph_.outputs()) read_elsewhere_[v] = 1;
  group_of_ = sets_.numbered();
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    const std::uint32_t g = group_of_[i];
    if (g == none) continue;
    if (g == groups_.size()) groups_.emplace_back();
    if (!is_join(eqns[i]))
      groups_[g].eqns.push_back(&eqns[i]);
    else if (!read_elsewhere_[eqns[i].first_result])
      groups_[g].joins.push_back(&eqns[i]);
  }
}

/// Adds where along each axis the operands of a join begin and end.
void Splitting::add_cuts(const Eqn& join, std::vector<std::vector<std::int64_t>>& cuts) const {
  const Shape& shape = graph_.aval(join.first_result).shape();
  const auto cut = [&](std::size_t d, std::int64_t at) {
    if (at > 0 && at < shape[d]) cuts[d].push_back(at);
  };
  if (join.op == &pad_op) {
    const auto& p = join.params.as<PadParams>();
    const Shape& from = graph_.aval(graph_.operands(join)[0]).shape();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      cut(d, p.low[d]);
      cut(d, p.low[d] + from[d]);
    }
  } else {
    const auto axis = static_cast<std::size_t>(join.params.as<ConcatenateParams>().axis);
    std::int64_t end = 0;
    for (ValueId v : graph_.operands(join)) cut(axis, end += graph_.aval(v).shape()[axis]);
  }
}

/// Sorts cuts and leaves out those inside of borders.
void tidy(std::vector<std::int64_t>& cuts, std::int64_t length) {
  std::ranges::sort(cuts);
  cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
  std::vector<std::int64_t> kept = {0};
  for (std::size_t i = 1; i < cuts.size(); ++i)
    if ((i + 1 < cuts.size() ? cuts[i + 1] : length) - kept.back() > widest_border) kept.push_back(cuts[i]);
  cuts = std::move(kept);
}

/// Borders of an array become long enough for loops: what follows the first begins where a line of the cache
/// may, and few elements behind the last cut are computed one by one.
void widen_borders(std::vector<std::int64_t>& cuts, std::int64_t length) {
  constexpr std::int64_t few = 4;
  if (cuts.size() > 1 && cuts[1] <= widest_border &&
      (cuts.size() > 2 ? cuts[2] : length) - whole_border > widest_border)
    cuts[1] = whole_border;
  const std::int64_t last = length - cuts.back(), before = cuts.size() > 2 ? cuts[cuts.size() - 2] : 0;
  if (cuts.size() > 1 && last > few && last <= widest_border &&
      length - whole_border - before > widest_border)
    cuts.back() = length - whole_border;
}

/// Where the joins are cut; along the axes that have most of them, if all would give too many parts.
void Splitting::find_cuts(Group& group) const {
  const Shape& shape = graph_.aval(group.joins[0]->first_result).shape();
  group.cuts.assign(shape.size(), {0});
  std::vector<std::size_t> joins_along(shape.size(), 0);
  for (const Eqn* join : group.joins) {
    std::vector<std::vector<std::int64_t>> own(shape.size());
    add_cuts(*join, own);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      joins_along[d] += own[d].empty() ? 0 : 1;
      group.cuts[d].insert(group.cuts[d].end(), own[d].begin(), own[d].end());
    }
  }
  std::size_t count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    tidy(group.cuts[d], shape[d]);
    count *= group.cuts[d].size();
  }
  if (beside_ == 1 && shape[shape.size() - 1] == shape.product())
    widen_borders(group.cuts.back(), shape.back());

  while (count > most_parts) {
    std::size_t least = shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (group.cuts[d].size() > 1 && (least == shape.size() || joins_along[d] <= joins_along[least]))
        least = d;
    count /= group.cuts[least].size();
    group.cuts[least] = {0};
  }
  std::erase_if(group.joins, [&](const Eqn* join) {
    std::vector<std::vector<std::int64_t>> own(shape.size());
    add_cuts(*join, own);
    bool taken_apart = false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (own[d].empty()) continue;
      if (group.cuts[d].size() == 1) return true;
      taken_apart = true;
    }
    return !taken_apart;
  });
  if (group.joins.empty()) return;
  const std::size_t rank = shape.size();
  std::vector<SliceParams> parts = {{Dims::filled(rank, 0), shape, Dims::filled(rank, 1)}};
  for (std::size_t d = 0; d < rank; ++d) {
    std::vector<SliceParams> finer;
    for (const SliceParams& p : parts)
      for (std::size_t c = 0; c < group.cuts[d].size(); ++c) {
        finer.push_back(p);
        finer.back().start[d] = group.cuts[d][c];
        finer.back().limit[d] = c + 1 < group.cuts[d].size() ? group.cuts[d][c + 1] : shape[d];
      }
    parts = std::move(finer);
  }
  group.parts = std::move(parts);
}

/// Whether fewer arrays are written, few elements are in parts with short rows, and the code stays short.
bool Splitting::is_worth(const Group& group) const {
  if (group.parts.size() < 2) return false;
  std::int64_t code = 0;
  for (const Eqn* e : group.eqns) code += emission_cost(graph_, *e);
  if (code * static_cast<std::int64_t>(group.parts.size()) > most_code) return false;
  const Shape& shape = graph_.aval(group.joins[0]->first_result).shape();
  std::int64_t in_short_rows = 0;
  for (const SliceParams& p : group.parts) {
    std::int64_t run = beside_, size = 1;
    bool whole = true;  // of all later axes
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t length = p.limit[d] - p.start[d];
      if (whole) run *= length;
      whole = whole && length == shape[d];
      size *= length;
    }
    if (run < shortest_run) in_short_rows += size;
  }
  // Loops read pads, though not as quickly; concatenations are made first.
  const bool pads = std::ranges::all_of(group.joins, [](const Eqn* e) { return e->op == &pad_op; });
  return (pads ? 64 : 16) * in_short_rows <= shape.product();
}

bool Splitting::plan() {
  find_groups();
  bool any = false;
  for (Group& group : groups_) {
    if (group.joins.empty() || group.eqns.empty()) continue;
    find_cuts(group);
    if (!is_worth(group)) group.parts.clear();
    any = any || !group.parts.empty();
  }
  return any;
}

ValueId Splitting::slice(ValueId whole, const Shape& shape, const SliceParams& of, Loc loc) {
  if (of.limit == shape && std::ranges::all_of(of.start, [](std::int64_t s) { return s == 0; })) return whole;
  return append1(builder_, slice_op, make_params(of), {&whole, 1}, loc);
}

/// One of its operands or a slice of it, or several put together in borders.
ValueId Splitting::part_of_join(const Eqn& join, const SliceParams& of) {
  if (join.op == &pad_op) return part_of_pad(join, of);
  const ConcatenateParams along = join.params.as<ConcatenateParams>();
  const auto axis = static_cast<std::size_t>(along.axis);
  std::vector<ValueId> pieces;
  std::int64_t begin = 0;
  for (ValueId v : graph_.operands(join)) {
    const Shape& shape = graph_.aval(v).shape();
    SliceParams here = of;
    here.start[axis] = std::max<std::int64_t>(of.start[axis] - begin, 0);
    here.limit[axis] = std::min(of.limit[axis] - begin, shape[axis]);
    if (here.start[axis] < here.limit[axis]) pieces.push_back(slice(copy_[v], shape, here, join.loc));
    begin += shape[axis];
  }
  return pieces.size() == 1 ? pieces[0]
                            : append1(builder_, concatenate_op, make_params(along), pieces, join.loc);
}

/// What is padded or a slice of it, what is around it, or both in borders.
ValueId Splitting::part_of_pad(const Eqn& pad, const SliceParams& of) {
  const auto& p = pad.params.as<PadParams>();
  const ValueId operands[] = {copy_[graph_.operands(pad)[0]], copy_[graph_.operands(pad)[1]]};
  const Shape& from = graph_.aval(graph_.operands(pad)[0]).shape();
  SliceParams here = of;
  PadParams around = p;
  Shape shape = from;
  bool empty = false, whole = true;
  for (std::size_t d = 0; d < from.size(); ++d) {
    here.start[d] = std::max<std::int64_t>(of.start[d] - p.low[d], 0);
    here.limit[d] = std::min(of.limit[d] - p.low[d], from[d]);
    around.low[d] = here.start[d] + p.low[d] - of.start[d];
    around.high[d] = of.limit[d] - p.low[d] - here.limit[d];
    shape[d] = of.limit[d] - of.start[d];
    empty = empty || here.start[d] >= here.limit[d];
    whole = whole && around.low[d] == 0 && around.high[d] == 0;
  }
  if (empty)
    return append1(builder_, broadcast_in_dim_op, make_params(BroadcastParams{shape, {}}), {&operands[1], 1},
                   pad.loc);
  const ValueId inside = slice(operands[0], from, here, pad.loc);
  return whole ? inside : append1(builder_, pad_op, make_params(around), {{inside, operands[1]}}, pad.loc);
}

ValueId Splitting::part(Group& group, ValueId v, std::size_t k, Loc loc) {
  std::vector<ValueId>& parts = group.made[v];
  if (!parts.empty()) return parts[k];
  const Eqn* e = graph_.definition(v);
  const bool taken_apart = e && std::ranges::find(group.joins, e) != group.joins.end();
  for (const SliceParams& of : group.parts)
    parts.push_back(taken_apart ? part_of_join(*e, of) : slice(copy_[v], graph_.aval(v).shape(), of, loc));
  return parts[k];
}

ValueId Splitting::joined(const Group& group, std::vector<ValueId> parts, Loc loc) {
  for (std::size_t d = group.cuts.size(); d-- > 0;) {
    const std::size_t n = group.cuts[d].size();
    if (n == 1) continue;
    std::vector<ValueId> larger;
    const ConcatenateParams along{static_cast<std::int64_t>(d)};
    for (std::size_t i = 0; i < parts.size(); i += n)
      larger.push_back(append1(builder_, concatenate_op, make_params(along), {parts.data() + i, n}, loc));
    parts = std::move(larger);
  }
  return parts[0];
}

GraphRef Splitting::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    Group* group = split_group(e);
    if (!group || (is_join(e) && std::ranges::find(group->joins, &e) == group->joins.end())) {
      copy_.add(e);
      continue;
    }
    if (is_join(e)) continue;
    const ScopeOf scope(e.scope);
    std::vector<ValueId> parts;
    for (std::size_t k = 0; k < group->parts.size(); ++k) {
      std::vector<ValueId> operands;
      for (ValueId v : graph_.operands(e)) operands.push_back(part(*group, v, k, e.loc));
      const bool no_choice = e.op == &select_op && operands[1] == operands[2];  // around what is padded
      parts.push_back(no_choice ? operands[1] : append1(builder_, *e.op, e.params, operands, e.loc));
    }
    if (read_elsewhere_[e.first_result]) copy_[e.first_result] = joined(*group, parts, e.loc);
    group->made[e.first_result] = std::move(parts);
  }
  return builder_.finish(copy_.outputs());
}

/// The concatenation that a reshape alone reads, if they differ in axes of length 1.
const Eqn* reshaped_join(const Graph& graph, const Eqn& e, const std::vector<std::uint32_t>& uses) {
  if (e.op != &reshape_op) return nullptr;
  const ValueId v = graph.operands(e)[0];
  const Eqn* join = graph.definition(v);
  if (!join || !join->op->joins || uses[v] != 1) return nullptr;
  const Shape& shape = graph.aval(v).shape();
  const bool same = without_units(shape) == without_units(graph.aval(e.first_result).shape());
  return same && shape[static_cast<std::size_t>(join->params.as<ConcatenateParams>().axis)] != 1 ? join
                                                                                                 : nullptr;
}

/// Such reshapes are concatenations of reshapes, in the shape of what reads them: `roll` of columns of
/// points.
GraphRef with_joins_reshaped(const Graph& graph) {
  if (std::ranges::none_of(graph.eqns(), [](const Eqn& e) { return e.op->joins; })) return GraphRef(&graph);
  const std::vector<std::uint32_t> uses = count_uses(graph);
  const auto moves = [&](const Eqn& e) { return reshaped_join(graph, e, uses) != nullptr; };
  if (std::ranges::none_of(graph.eqns(), moves)) return GraphRef(&graph);
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (const Eqn& e : graph.eqns()) {
    const Eqn* join = reshaped_join(graph, e, uses);
    if (!join) {
      copy.add(e);
      continue;
    }
    const ScopeOf scope(join->scope);
    const auto along = static_cast<std::size_t>(join->params.as<ConcatenateParams>().axis);
    const Shape &from = graph.aval(join->first_result).shape(), &to = graph.aval(e.first_result).shape();
    // The axis that has as many long ones before it.
    const auto before =
        std::count_if(from.begin(), from.begin() + along, [](std::int64_t n) { return n != 1; });
    std::size_t axis = 0;
    for (std::ptrdiff_t met = 0; to[axis] == 1 || met < before; ++axis) met += to[axis] != 1;
    std::vector<ValueId> parts;
    for (ValueId v : graph.operands(*join)) {
      Shape shape = to;
      shape[axis] = graph.aval(v).shape()[along];
      const ValueId part = copy[v];
      parts.push_back(append1(builder, reshape_op, make_params(ReshapeParams{shape}), {&part, 1}, e.loc));
    }
    const ConcatenateParams params{static_cast<std::int64_t>(axis)};
    copy[e.first_result] = append1(builder, concatenate_op, make_params(params), parts, join->loc);
  }
  return builder.finish(copy.outputs());
}

GraphRef split(const Graph& graph, bool in_lanes) {
  GraphRef made = with_joins_reshaped(graph);
  if (std::ranges::any_of(made->eqns(), is_join)) {
    Splitting splitting(*made, in_lanes);
    // Without anything to split, reshapes stay where they were.
    made = splitting.plan() ? splitting.run() : GraphRef(&graph);
  }
  return with_regions(*made, [&](const Graph& region, const Eqn& e) {
    return split(region, in_lanes || e.op->kind == OpKind::MapLanes);
  });
}

}  // namespace

GraphRef split_at_joins(const Graph& graph) { return split(graph, false); }

}  // namespace apsis::detail
