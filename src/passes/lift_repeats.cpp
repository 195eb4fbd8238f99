#include "passes/lift_repeats.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/reduce_params.hpp"
#include "ops/sum_order.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/axis_groups.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t few = 256;  // elements that take less time than another loop

/// What an array repeats: it is `core`, broadcast by `repeat`, in another shape.
struct Repetition {
  ValueId core;
  BroadcastParams repeat;
  Shape shape;
};

class Lifting {
 public:
  explicit Lifting(const Graph& graph) : graph_(graph) {}
  GraphRef run();  // the same object if nothing is lifted

 private:
  std::optional<Repetition> repetition(ValueId v) const;
  ValueId viewed(const Op& op, const Params& params, ValueId v, Loc loc);
  ValueId repeated(const Repetition& r, Loc loc);
  ValueId computed(const Eqn& e, std::span<const ValueId> operands);
  bool add_sum(const Eqn& e);
  bool add_repetition(const Eqn& e);

  const Graph& graph_;
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
  bool lifts_ = false;
};

/// Of a value of the new program.
std::optional<Repetition> Lifting::repetition(ValueId v) const {
  const Eqn* e = builder_.definition(v);
  if (e && e->op->view_kind == ViewKind::Reshaped) e = builder_.definition(builder_.operands(*e)[0]);
  if (!e || e->op->view_kind != ViewKind::Repeated) return std::nullopt;
  const ValueId core = builder_.operands(*e)[0];
  if (builder_.aval(core).size() >= builder_.aval(v).size()) return std::nullopt;
  return Repetition{core, e->params.as<BroadcastParams>(), builder_.aval(v).shape()};
}

ValueId Lifting::viewed(const Op& op, const Params& params, ValueId v, Loc loc) {
  ValueId result = 0;
  builder_.add(op, params, {&v, 1}, {&result, 1}, loc);
  return result;
}

ValueId Lifting::repeated(const Repetition& r, Loc loc) {
  lifts_ = true;
  const ValueId all = viewed(broadcast_in_dim_op, make_params(r.repeat), r.core, loc);
  return viewed(reshape_op, make_params(ReshapeParams{r.shape}), all, loc);
}

/// The result of an elementwise op: of what its operands repeat, if they do so in one way. What they repeat
/// may repeat something itself.
ValueId Lifting::computed(const Eqn& e, std::span<const ValueId> operands) {
  std::optional<Repetition> common;
  for (ValueId v : operands) {
    const std::optional<Repetition> r = repetition(v);
    if (!r) return append1(builder_, *e.op, e.params, operands, e.loc);
    if (builder_.aval(r->core).rank() == 0) continue;
    if (common && (r->repeat.shape != common->repeat.shape || r->repeat.axes != common->repeat.axes ||
                   builder_.aval(r->core).shape() != builder_.aval(common->core).shape()))
      return append1(builder_, *e.op, e.params, operands, e.loc);
    common = r;
  }
  std::vector<ValueId> cores;
  if (!common) {
    for (ValueId v : operands) cores.push_back(repetition(v)->core);
    const Shape all = builder_.aval(operands[0]).shape();
    return repeated({append1(builder_, *e.op, e.params, cores, e.loc), {all, {}}, all}, e.loc);
  }
  const Shape shape = builder_.aval(common->core).shape();
  for (ValueId v : operands) {
    const Repetition r = *repetition(v);
    const bool number = builder_.aval(r.core).rank() == 0;
    cores.push_back(number
                        ? viewed(broadcast_in_dim_op, make_params(BroadcastParams{shape, {}}), r.core, e.loc)
                        : r.core);
  }
  common->core = computed(e, cores);
  return repeated(*common, e.loc);
}

/// A sum over axes along which elements are repeated. So few terms are added one after the other.
bool Lifting::add_sum(const Eqn& e) {
  const ValueId operand = copy_[graph_.operands(e)[0]];
  const Dtype dtype = builder_.aval(operand).dtype();
  if (e.op != &reduce_sum_op || is_complex(dtype) || item_size(dtype) < 4) return false;
  std::optional<Repetition> r = repetition(operand);
  if (!r) return false;
  const auto groups = axis_groups(r->repeat.shape, r->shape);
  if (!groups) return false;
  const Shape& core = builder_.aval(r->core).shape();
  std::vector<char> summed(r->repeat.shape.size(), 0);
  std::int64_t terms = 1;
  for (const std::int64_t axis : e.params.as<ReduceParams>().axes) {
    const AxisGroup group = (*groups)[static_cast<std::size_t>(axis)];
    for (std::size_t d = group.first; d < group.end; ++d) {
      summed[d] = 1;
      terms *= r->repeat.shape[d];
    }
  }
  if (terms < 1 || terms >= sum_sequential_below) return false;
  // Axes of the core that are left, and where they are among those that are left.
  Shape kept_core, kept_shape;
  Dims kept_axes, places;
  for (std::size_t d = 0; d < summed.size(); ++d) {
    places.push_back(kept_shape.rank());
    if (!summed[d]) kept_shape.push_back(r->repeat.shape[d]);
  }
  for (std::size_t i = 0; i < core.size(); ++i) {
    const auto d = static_cast<std::size_t>(r->repeat.axes[i]);
    if (summed[d] && core[i] != 1) return false;
    if (summed[d]) continue;
    kept_core.push_back(core[i]);
    kept_axes.push_back(places[d]);
  }
  const ValueId one = viewed(reshape_op, make_params(ReshapeParams{kept_core}), r->core, e.loc);
  ValueId total = one;
  for (std::int64_t k = 1; k < terms; ++k) {
    const ValueId both[] = {total, one};
    total = append1(builder_, add_op, {}, both, e.loc);
  }
  copy_[e.first_result] =
      repeated({total, {kept_shape, kept_axes}, graph_.aval(e.first_result).shape()}, e.loc);
  return true;
}

/// A repetition of something repeated whose axes were put together: axes are put together at last.
bool Lifting::add_repetition(const Eqn& e) {
  const ValueId operand = copy_[graph_.operands(e)[0]];
  const std::optional<Repetition> inner = repetition(operand);
  if (!inner || inner->shape == inner->repeat.shape) return false;
  const auto groups = axis_groups(inner->repeat.shape, inner->shape);
  if (!groups) return false;
  const auto& p = e.params.as<BroadcastParams>();
  Shape shape;
  Dims axes = Dims::filled(inner->repeat.shape.size(), 0);
  for (std::int64_t d = 0; d < p.shape.rank(); ++d) {
    std::size_t i = 0;
    while (i < p.axes.size() && p.axes[i] != d) ++i;
    if (i == p.axes.size()) {
      shape.push_back(p.shape[static_cast<std::size_t>(d)]);
      continue;
    }
    if (inner->shape[i] != p.shape[static_cast<std::size_t>(d)]) return false;
    for (std::size_t k = (*groups)[i].first; k < (*groups)[i].end; ++k) {
      axes[k] = shape.rank();
      shape.push_back(inner->repeat.shape[k]);
    }
  }
  const ValueId apart = viewed(broadcast_in_dim_op, make_params(inner->repeat), inner->core, e.loc);
  copy_[e.first_result] = repeated({apart, {shape, axes}, p.shape}, e.loc);
  return true;
}

GraphRef Lifting::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    const ScopeOf scope(e.scope);
    if (e.op->view_kind == ViewKind::Repeated && add_repetition(e)) continue;
    if (e.op->kind == OpKind::Reduce && add_sum(e)) continue;
    if (e.op->kind == OpKind::View) {
      // Views of views become one.
      builder_.add(*e.op, e.params, copy_(graph_.operands(e)), {&copy_[e.first_result], 1}, e.loc);
      continue;
    }
    const bool elementwise = e.op->kind == OpKind::Elementwise && e.result_count == 1 &&
                             e.operand_count > 0 && !has_effect(*e.op, e.params) &&
                             graph_.aval(e.first_result).size() > few;
    if (elementwise)
      copy_[e.first_result] = computed(e, copy_(graph_.operands(e)));
    else
      copy_.add(e);
  }
  return lifts_ ? builder_.finish(copy_.outputs()) : GraphRef(&graph_);
}

bool is_repeated(const Graph& graph, ValueId v) {
  const Eqn* e = graph.definition(v);
  return e && e->op->view_kind == ViewKind::Repeated;
}

/// Whether an array is repeated that is not a number, or something is computed of repeated numbers alone.
bool repeats(const Graph& graph, const Eqn& e) {
  if (e.op->view_kind == ViewKind::Repeated) return graph.aval(graph.operands(e)[0]).rank() > 0;
  return e.op->kind == OpKind::Elementwise && e.operand_count > 0 &&
         std::ranges::all_of(graph.operands(e), [&](ValueId v) { return is_repeated(graph, v); });
}

}  // namespace

GraphRef lift_repeats(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return repeats(graph, e); }))
    made = Lifting(graph).run();
  return with_regions(*made, lift_repeats);
}

}  // namespace apsis::detail
