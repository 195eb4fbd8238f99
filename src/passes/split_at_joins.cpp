#include "passes/split_at_joins.hpp"

#include <algorithm>
#include <unordered_map>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/index_params.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t smallest = 1 << 12;  // elements of an array; below, more loops take longer
constexpr std::int64_t shortest_run = 64;   // elements that a long loop writes one behind the other
constexpr std::size_t most_parts = 9;       // borders and corners of a matrix, and what is inside
constexpr std::int64_t most_code = 1500;    // instructions of all parts

/// Elementwise equations of one shape that read one another's results, and concatenations that only they
/// read.
struct Group {
  std::vector<const Eqn*> eqns, joins;
  std::vector<std::vector<std::int64_t>> cuts;             // by axis: where parts begin, the first at 0
  std::vector<SliceParams> parts;                          // in the order of their places; none: not split
  std::unordered_map<ValueId, std::vector<ValueId>> made;  // parts of values
};

class Splitting {
 public:
  explicit Splitting(const Graph& graph)
      : graph_(graph), group_of_(graph.eqns().size(), none), read_elsewhere_(graph.value_count(), 0) {}

  /// Whether there is a group to split.
  bool plan();
  GraphRef run();

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  bool is_member(const Eqn& e) const;
  std::uint32_t number(const Eqn& e) const { return static_cast<std::uint32_t>(&e - graph_.eqns().data()); }
  std::uint32_t root(std::uint32_t i) {
    while (group_of_[i] != i) i = group_of_[i] = group_of_[group_of_[i]];
    return i;
  }
  void find_groups();
  void find_cuts(Group& group) const;
  bool is_worth(const Group& group) const;
  Group* split_group(const Eqn& e) {
    const std::uint32_t g = group_of_[number(e)];
    return g == none || groups_[g].parts.empty() ? nullptr : &groups_[g];
  }
  ValueId part(Group& group, ValueId v, std::size_t k, Loc loc);
  ValueId part_of_join(const Eqn& join, const SliceParams& of);
  ValueId slice(ValueId whole, const Shape& shape, const SliceParams& of, Loc loc);
  ValueId joined(const Group& group, std::vector<ValueId> parts, Loc loc);

  const Graph& graph_;
  std::vector<std::uint32_t> group_of_;  // by equation
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
  return aval.size() >= smallest && std::ranges::all_of(graph_.operands(e), [&](ValueId v) {
           return graph_.aval(v).shape() == aval.shape();
         });
}

/// Numbers of groups by equation: members are of one group with the member or the concatenation that they
/// read.
void Splitting::find_groups() {
  const auto eqns = graph_.eqns();
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    if (eqns[i].op->joins && graph_.aval(eqns[i].first_result).size() >= smallest) group_of_[i] = i;
    if (!is_member(eqns[i])) {
      for (ValueId v : graph_.operands(eqns[i])) read_elsewhere_[v] = 1;
      continue;
    }
    group_of_[i] = i;
    for (ValueId v : graph_.operands(eqns[i])) {
      const Eqn* made = graph_.definition(v);
      if (made && group_of_[number(*made)] != none) group_of_[root(number(*made))] = root(i);
    }
  }
  for (ValueId v : graph_.outputs()) read_elsewhere_[v] = 1;
  std::vector<std::uint32_t> number_of(eqns.size(), none);
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    if (group_of_[i] == none) continue;
    std::uint32_t& g = number_of[root(i)];
    if (g == none) {
      g = static_cast<std::uint32_t>(groups_.size());
      groups_.emplace_back();
    }
    if (!eqns[i].op->joins)
      groups_[g].eqns.push_back(&eqns[i]);
    else if (!read_elsewhere_[eqns[i].first_result])
      groups_[g].joins.push_back(&eqns[i]);
  }
  std::vector<std::uint32_t> groups(eqns.size(), none);
  for (std::uint32_t i = 0; i < eqns.size(); ++i)
    if (group_of_[i] != none) groups[i] = number_of[root(i)];
  group_of_ = std::move(groups);
}

/// Where the concatenations are cut; those along the axes that have most of them, if all would give too many
/// parts.
void Splitting::find_cuts(Group& group) const {
  const Shape& shape = graph_.aval(group.joins[0]->first_result).shape();
  const auto axis_of = [](const Eqn* e) {
    return static_cast<std::size_t>(e->params.as<ConcatenateParams>().axis);
  };
  group.cuts.assign(shape.size(), {0});
  for (const Eqn* join : group.joins) {
    std::int64_t end = 0;
    for (ValueId v : graph_.operands(*join)) {
      end += graph_.aval(v).shape()[axis_of(join)];
      if (end < shape[axis_of(join)]) group.cuts[axis_of(join)].push_back(end);
    }
  }
  std::size_t count = 1;
  for (auto& cuts : group.cuts) {
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    count *= cuts.size();
  }
  while (count > most_parts) {
    std::size_t least = shape.size();
    const auto joins_along = [&](std::size_t axis) {
      return std::ranges::count_if(group.joins, [&](const Eqn* e) { return axis_of(e) == axis; });
    };
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (group.cuts[d].size() > 1 && (least == shape.size() || joins_along(d) <= joins_along(least)))
        least = d;
    count /= group.cuts[least].size();
    group.cuts[least] = {0};
    std::erase_if(group.joins, [&](const Eqn* e) { return axis_of(e) == least; });
  }
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
    std::int64_t run = 1, size = 1;
    bool whole = true;  // of all later axes
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t length = p.limit[d] - p.start[d];
      if (whole) run *= length;
      whole = whole && length == shape[d];
      size *= length;
    }
    if (run < shortest_run) in_short_rows += size;
  }
  if (16 * in_short_rows > shape.product()) return false;
  return true;
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

/// Cuts are where its operands meet, so that a part is one of them or a slice of it.
ValueId Splitting::part_of_join(const Eqn& join, const SliceParams& of) {
  const auto axis = static_cast<std::size_t>(join.params.as<ConcatenateParams>().axis);
  SliceParams here = of;
  for (ValueId v : graph_.operands(join)) {
    const Shape& shape = graph_.aval(v).shape();
    if (here.start[axis] < shape[axis]) return slice(copy_[v], shape, here, join.loc);
    here.start[axis] -= shape[axis];
    here.limit[axis] -= shape[axis];
  }
  APSIS_ASSERT(false);
  return 0;
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
    if (!group || (e.op->joins && std::ranges::find(group->joins, &e) == group->joins.end())) {
      copy_.add(e);
      continue;
    }
    if (e.op->joins) continue;
    const ScopeOf scope(e.scope);
    std::vector<ValueId> parts;
    for (std::size_t k = 0; k < group->parts.size(); ++k) {
      std::vector<ValueId> operands;
      for (ValueId v : graph_.operands(e)) operands.push_back(part(*group, v, k, e.loc));
      parts.push_back(append1(builder_, *e.op, e.params, operands, e.loc));
    }
    if (read_elsewhere_[e.first_result]) copy_[e.first_result] = joined(*group, parts, e.loc);
    group->made[e.first_result] = std::move(parts);
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef split_at_joins(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return e.op->joins; })) {
    Splitting splitting(graph);
    if (splitting.plan()) made = splitting.run();
  }
  return with_regions(*made, split_at_joins);
}

}  // namespace apsis::detail
