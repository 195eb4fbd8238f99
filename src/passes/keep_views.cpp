#include "passes/keep_views.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "apsis/base/named_scope.hpp"
#include "ir/contiguous_run.hpp"
#include "ir/copy.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/axis_groups.hpp"

namespace apsis::detail {
namespace {

/// Elementwise equations of one shape that read each other's results.
struct Component {
  bool possible = true;  // its shape may change
  std::int64_t cost = 0;
  Shape parts;       // not empty: the shape in which it is computed, whose axes are put together
  Dims permutation;  // not empty: what it is computed without
};

/// A view whose axes are put together where that takes a copy.
struct Parts {
  const Shape* shape;
  std::int64_t row;  // how many of its elements follow each other in memory
};

class Keeping {
 public:
  explicit Keeping(const Graph& graph) : graph_(graph), of_(graph.value_count(), none) {}

  /// Whether any component changes its shape.
  bool plan();
  GraphRef run();

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  void join();
  Component* component(ValueId v) { return of_[v] == none ? nullptr : &components_[root(of_[v])]; }
  std::uint32_t root(std::uint32_t c) {
    while (parents_[c] != c) c = parents_[c] = parents_[parents_[c]];
    return c;
  }
  bool is_number(ValueId v) const;
  std::optional<Parts> parts_of(ValueId v) const;
  bool suits(const Component& component, const Parts& parts) const;
  void look_for_parts();
  void look_for_transposes();
  ValueId view(const Op& op, const Params& params, ValueId v, Loc loc);
  ValueId in_shape(ValueId v, const Component& component, Loc loc);
  void compute(const Eqn& e, const Component& component);
  bool reduce(const Eqn& e);

  const Graph& graph_;
  std::vector<std::uint32_t> of_, parents_;  // by value; by component
  std::vector<Component> components_;
  std::vector<ValueId> inside_;  // by value of a component that changes: what it is before it is put together
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

bool joins(const Graph& graph, const Eqn& e) {
  constexpr std::int64_t few = 256;  // elements of which a copy costs little
  return e.op->kind == OpKind::Elementwise && e.result_count == 1 && e.operand_count > 0 &&
         fusible(graph, e) && !has_effect(*e.op, e.params) && graph.aval(e.first_result).size() > few;
}

void Keeping::join() {
  for (const Eqn& e : graph_.eqns()) {
    if (!joins(graph_, e)) continue;
    const auto own = static_cast<std::uint32_t>(parents_.size());
    parents_.push_back(own);
    components_.emplace_back();
    components_.back().cost = emission_cost(graph_, e);
    of_[e.first_result] = own;
    for (ValueId v : graph_.operands(e)) {
      if (of_[v] == none) continue;
      const std::uint32_t a = root(of_[v]), b = root(own);
      if (a == b) continue;
      components_[b].cost += components_[a].cost;
      parents_[a] = b;
    }
  }
}

/// One element that is repeated.
bool Keeping::is_number(ValueId v) const {
  const Eqn* e = graph_.definition(v);
  return e && e->op->view_kind == ViewKind::Repeated && graph_.aval(graph_.operands(*e)[0]).size() == 1;
}

/// Of a reshape that puts together axes of a view, if a copy would be needed.
std::optional<Parts> Keeping::parts_of(ValueId v) const {
  const Eqn* reshape = graph_.definition(v);
  if (!reshape || reshape->op->view_kind != ViewKind::Reshaped) return std::nullopt;
  const ValueId from = graph_.operands(*reshape)[0];
  const Eqn* made = graph_.definition(from);
  if (!made || made->op->kind != OpKind::View || made->op->view_kind == ViewKind::Reshaped)
    return std::nullopt;
  View of_source, whole;
  const View source = View::contiguous(graph_.aval(graph_.operands(*made)[0]).shape());
  if (!made->op->view(made->params, graph_.aval(from), source, of_source)) return std::nullopt;
  if (reshape->op->view(reshape->params, graph_.aval(v), of_source, whole)) return std::nullopt;
  const Shape& parts = graph_.aval(from).shape();
  if (!axis_groups(parts, graph_.aval(v).shape())) return std::nullopt;
  return Parts{&parts, contiguous_run(of_source)};
}

/// Whether loops over this shape go on in whole vectors: rows are long or such vectors, or several short ones
/// can be taken at once.
bool Keeping::suits(const Component& c, const Parts& made) const {
  constexpr std::int64_t long_row = 64, whole_vector = 8, short_row = 8, many_rows = 16, most_in_rows = 256;
  const Shape& parts = *made.shape;
  const std::int64_t row = parts.back();
  if (row >= long_row || made.row % whole_vector == 0) return true;
  return row <= short_row && parts.size() > 1 && parts[parts.size() - 2] >= many_rows &&
         c.cost * row <= most_in_rows;
}

void Keeping::look_for_parts() {
  const auto is_reshaped = [&](ValueId v) {
    const Eqn* e = graph_.definition(v);
    return e && e->op->view_kind == ViewKind::Reshaped;
  };
  // A view that others read, too, is copied for them.
  const std::vector<std::uint32_t> uses = count_uses(graph_);
  std::map<std::pair<std::uint32_t, ValueId>, std::uint32_t> reads;
  for (const Eqn& e : graph_.eqns())
    if (e.result_count == 1 && of_[e.first_result] != none)
      for (ValueId v : graph_.operands(e))
        if (is_reshaped(v)) ++reads[{root(of_[e.first_result]), v}];
  for (const Eqn& e : graph_.eqns()) {
    if (e.result_count != 1 || of_[e.first_result] == none) continue;
    Component& c = *component(e.first_result);
    for (ValueId v : graph_.operands(e)) {
      if (!c.parts.empty() || !is_reshaped(v) || reads[{root(of_[e.first_result]), v}] != uses[v]) continue;
      const std::optional<Parts> parts = parts_of(v);
      if (parts && suits(c, *parts)) c.parts = *parts->shape;
    }
  }
}

void Keeping::look_for_transposes() {
  const auto leave = [&](ValueId v) {
    if (Component* c = component(v)) c->possible = false;
  };
  const auto takes = [&](ValueId v, Dims permutation) {
    Component* c = component(v);
    if (!c) return;
    if (c->permutation.empty()) c->permutation = permutation;
    c->possible = c->possible && c->permutation == permutation;
  };
  for (ValueId v : graph_.outputs()) leave(v);
  for (const Eqn& e : graph_.eqns()) {
    const auto operands = graph_.operands(e);
    if (e.result_count == 1 && of_[e.first_result] != none) {
      for (ValueId v : operands) {
        if (of_[v] != none || is_number(v)) continue;
        const Eqn* made = graph_.definition(v);
        if (made && made->op->view_kind == ViewKind::Permuted)
          takes(e.first_result, made->params.as<TransposeParams>().permutation);
        else if (!made || made->op->view_kind != ViewKind::Repeated)  // what is repeated is so in any order
          leave(e.first_result);
      }
    } else if (e.op->view_kind == ViewKind::Permuted) {
      const Dims& back = e.params.as<TransposeParams>().permutation;
      Dims permutation = back;
      for (std::size_t d = 0; d < back.size(); ++d)
        permutation[static_cast<std::size_t>(back[d])] = static_cast<std::int64_t>(d);
      takes(operands[0], permutation);
    } else {
      for (ValueId v : operands) leave(v);
    }
  }
  for (Component& c : components_)
    if (!c.possible || !c.parts.empty()) c.permutation = {};
}

bool Keeping::plan() {
  join();
  look_for_parts();
  look_for_transposes();
  return std::ranges::any_of(graph_.eqns(), [&](const Eqn& e) {
    if (e.result_count != 1) return false;
    const Component* c = component(e.first_result);
    return c && (!c->parts.empty() || !c->permutation.empty());
  });
}

ValueId Keeping::view(const Op& op, const Params& params, ValueId v, Loc loc) {
  ValueId result = 0;
  builder_.add(op, params, {&v, 1}, {&result, 1}, loc);
  return result;
}

/// What a component reads, in the shape in which it is computed.
ValueId Keeping::in_shape(ValueId v, const Component& c, Loc loc) {
  if (of_[v] != none) return inside_[v];
  if (!c.parts.empty()) return view(reshape_op, make_params(ReshapeParams{c.parts}), copy_[v], loc);
  Dims back = c.permutation;
  for (std::size_t d = 0; d < back.size(); ++d)
    back[static_cast<std::size_t>(c.permutation[d])] = static_cast<std::int64_t>(d);
  return view(transpose_op, make_params(TransposeParams{back}), copy_[v], loc);
}

void Keeping::compute(const Eqn& e, const Component& c) {
  std::vector<ValueId> operands;
  for (ValueId v : graph_.operands(e)) operands.push_back(in_shape(v, c, e.loc));
  const ValueId made = append1(builder_, *e.op, e.params, operands, e.loc);
  inside_[e.first_result] = made;
  copy_[e.first_result] =
      c.parts.empty()
          ? view(transpose_op, make_params(TransposeParams{c.permutation}), made, e.loc)
          : view(reshape_op, make_params(ReshapeParams{graph_.aval(e.first_result).shape()}), made, e.loc);
}

/// A sum, or another reduction, of what is put together of axes: before that is done.
bool Keeping::reduce(const Eqn& e) {
  const ValueId operand = copy_[graph_.operands(e)[0]];
  const Eqn* whole = builder_.definition(operand);
  if (!whole || whole->op->view_kind != ViewKind::Reshaped) return false;
  const ValueId from = builder_.operands(*whole)[0];
  const Eqn* made = builder_.definition(from);
  if (!made || made->op->kind != OpKind::Elementwise) return false;
  const auto groups = axis_groups(builder_.aval(from).shape(), builder_.aval(operand).shape());
  if (!groups) return false;
  Dims axes;
  for (const std::int64_t axis : e.params.as<ReduceParams>().axes) {
    const AxisGroup group = (*groups)[static_cast<std::size_t>(axis)];
    for (std::size_t d = group.first; d < group.end; ++d) axes.push_back(static_cast<std::int64_t>(d));
  }
  const ValueId total = append1(builder_, *e.op, make_params(ReduceParams{axes}), {&from, 1}, e.loc);
  copy_[e.first_result] =
      view(reshape_op, make_params(ReshapeParams{graph_.aval(e.first_result).shape()}), total, e.loc);
  return true;
}

GraphRef Keeping::run() {
  inside_.resize(graph_.value_count());
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    const ScopeOf scope(e.scope);
    const Component* c = e.result_count == 1 ? component(e.first_result) : nullptr;
    if (c && (!c->parts.empty() || !c->permutation.empty())) {
      compute(e, *c);
    } else if (e.op->kind == OpKind::View) {
      // Views of views become one.
      builder_.add(*e.op, e.params, copy_(graph_.operands(e)), {&copy_[e.first_result], 1}, e.loc);
    } else if (!(e.op->kind == OpKind::Reduce && e.op->neutral && reduce(e))) {
      copy_.add(e);
    }
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef keep_views(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return e.op->kind == OpKind::View; })) {
    // What is computed in the shape of a view may then be computed without it.
    for (int times = 0; times < 2; ++times) {
      Keeping keeping(*made);
      if (!keeping.plan()) break;
      made = keeping.run();
    }
  }
  return with_regions(*made, keep_views);
}

}  // namespace apsis::detail
