#include "passes/split_columns.hpp"

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

constexpr std::int64_t smallest = 1 << 12;  // elements of an array
constexpr std::int64_t most_columns = 16;    // that loops store together
constexpr std::int64_t most_code = 1500;    // instructions of all columns

/// Elementwise equations of one shape that read one another's results, and columns side by side that only
/// they read.
struct Group {
  std::vector<const Eqn*> eqns, joins;
  bool splits = false;
  std::unordered_map<ValueId, std::vector<ValueId>> made;  // columns of values
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

  std::int64_t column_count(const Eqn& e) const { return graph_.aval(e.first_result).shape().back(); }
  bool is_reversed(const Eqn& e) const;
  const Eqn* join_of(const Eqn& e) const;
  bool is_member(const Eqn& e) const;
  std::uint32_t number(const Eqn& e) const { return static_cast<std::uint32_t>(&e - graph_.eqns().data()); }
  std::uint32_t root(std::uint32_t i) {
    while (group_of_[i] != i) i = group_of_[i] = group_of_[group_of_[i]];
    return i;
  }
  void find_groups();
  bool is_worth(const Group& group) const;
  Group* split_group(const Eqn& e) {
    const std::uint32_t g = group_of_[number(e)];
    return g == none || !groups_[g].splits ? nullptr : &groups_[g];
  }
  ValueId column(Group& group, ValueId v, std::int64_t k, Loc loc);

  const Graph& graph_;
  std::vector<std::uint32_t> group_of_;  // by equation
  std::vector<char> read_elsewhere_;     // by value: not by a member of a group
  std::vector<Group> groups_;            // by number
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

/// Whether it takes columns from the last one to the first.
bool Splitting::is_reversed(const Eqn& e) const {
  if (e.op->view_kind != ViewKind::Reversed) return false;
  const Dims& axes = e.params.as<ReverseParams>().axes;
  return axes.size() == 1 && axes[0] + 1 == static_cast<std::int64_t>(graph_.aval(e.first_result).rank());
}

/// The concatenation of single columns that the equation is, or takes the columns of; null: none.
const Eqn* Splitting::join_of(const Eqn& e) const {
  const Eqn* join = is_reversed(e) ? graph_.definition(graph_.operands(e)[0]) : &e;
  if (!join || !join->op->joins) return nullptr;
  const Aval& aval = graph_.aval(join->first_result);
  const bool of_columns =
      join->params.as<ConcatenateParams>().axis + 1 == static_cast<std::int64_t>(aval.rank()) &&
      join->operand_count == aval.shape().back() && aval.shape().back() <= most_columns;
  return of_columns && aval.size() >= smallest && !is_complex(aval.dtype()) && item_size(aval.dtype()) >= 4
             ? join
             : nullptr;
}

bool Splitting::is_member(const Eqn& e) const {
  if (e.op->kind != OpKind::Elementwise || e.result_count != 1 || e.operand_count == 0 ||
      !fusible(graph_, e) || has_effect(*e.op, e.params))
    return false;
  const Aval& aval = graph_.aval(e.first_result);
  return aval.rank() > 0 && aval.shape().back() <= most_columns && aval.size() >= smallest &&
         std::ranges::all_of(graph_.operands(e),
                             [&](ValueId v) { return graph_.aval(v).shape() == aval.shape(); });
}

/// Numbers of groups by equation: members are of one group with the member or the columns that they read.
void Splitting::find_groups() {
  const auto eqns = graph_.eqns();
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    if (join_of(eqns[i])) group_of_[i] = i;
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
  std::vector<std::uint32_t> number_of(eqns.size(), none), groups(eqns.size(), none);
  for (std::uint32_t i = 0; i < eqns.size(); ++i) {
    if (group_of_[i] == none) continue;
    std::uint32_t& g = number_of[root(i)];
    if (g == none) {
      g = static_cast<std::uint32_t>(groups_.size());
      groups_.emplace_back();
    }
    if (is_member(eqns[i]))
      groups_[g].eqns.push_back(&eqns[i]);
    else if (!read_elsewhere_[eqns[i].first_result])
      groups_[g].joins.push_back(&eqns[i]);
  }
  for (std::uint32_t i = 0; i < eqns.size(); ++i)
    if (group_of_[i] != none) groups[i] = number_of[root(i)];
  group_of_ = std::move(groups);
}

/// Whether fewer arrays are written, few others are taken apart in registers, and the code stays short.
bool Splitting::is_worth(const Group& group) const {
  if (group.joins.empty() || group.eqns.empty()) return false;
  const auto is_in = [](const std::vector<const Eqn*>& some, const Eqn* e) {
    return std::ranges::find(some, e) != some.end();
  };
  std::int64_t code = 0, written = 0;
  std::vector<ValueId> others;
  for (const Eqn* e : group.eqns) {
    code += emission_cost(graph_, *e);
    written += read_elsewhere_[e->first_result];
    for (ValueId v : graph_.operands(*e)) {
      const Eqn* made = graph_.definition(v);
      const bool is_free = made && (made->op->view_kind == ViewKind::Repeated || is_in(group.joins, made) ||
                                    is_in(group.eqns, made));
      if (!is_free && std::ranges::find(others, v) == others.end()) others.push_back(v);
    }
  }
  return code * column_count(*group.joins[0]) <= most_code && written <= std::ssize(group.joins) &&
         std::ssize(others) <= 2 * std::ssize(group.joins);
}

bool Splitting::plan() {
  find_groups();
  bool any = false;
  for (Group& group : groups_) any = (group.splits = is_worth(group)) || any;
  return any;
}

/// Column k of a value: made already, joined, or sliced.
ValueId Splitting::column(Group& group, ValueId v, std::int64_t k, Loc loc) {
  std::vector<ValueId>& columns = group.made[v];
  if (!columns.empty()) return columns[static_cast<std::size_t>(k)];
  const Eqn* e = graph_.definition(v);
  const Shape& shape = graph_.aval(v).shape();
  const std::int64_t count = shape.back();
  const bool joined = e && std::ranges::find(group.joins, e) != group.joins.end();
  for (std::int64_t c = 0; c < count; ++c) {
    if (joined) {
      const std::int64_t from = is_reversed(*e) ? count - 1 - c : c;
      columns.push_back(copy_[graph_.operands(*join_of(*e))[static_cast<std::size_t>(from)]]);
      continue;
    }
    SliceParams of{Dims::filled(shape.size(), 0), shape, Dims::filled(shape.size(), 1)};
    of.start[shape.size() - 1] = c;
    of.limit[shape.size() - 1] = c + 1;
    const ValueId whole = copy_[v];
    columns.push_back(append1(builder_, slice_op, make_params(of), {&whole, 1}, loc));
  }
  return columns[static_cast<std::size_t>(k)];
}

GraphRef Splitting::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    Group* group = split_group(e);
    const bool joins = group && !is_member(e);
    if (joins && std::ranges::find(group->joins, &e) != group->joins.end()) continue;
    if (!group || joins) {
      copy_.add(e);
      continue;
    }
    const ScopeOf scope(e.scope);
    std::vector<ValueId> made, operands;
    for (std::int64_t k = 0; k < column_count(e); ++k) {
      operands.clear();
      for (ValueId v : graph_.operands(e)) operands.push_back(column(*group, v, k, e.loc));
      made.push_back(append1(builder_, *e.op, e.params, operands, e.loc));
    }
    if (read_elsewhere_[e.first_result]) {
      const ConcatenateParams along{static_cast<std::int64_t>(graph_.aval(e.first_result).rank()) - 1};
      copy_[e.first_result] = append1(builder_, concatenate_op, make_params(along), made, e.loc);
    }
    group->made[e.first_result] = std::move(made);
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef split_columns(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return e.op->joins; })) {
    Splitting splitting(graph);
    if (splitting.plan()) made = splitting.run();
  }
  return with_regions(*made, split_columns);
}

}  // namespace apsis::detail
