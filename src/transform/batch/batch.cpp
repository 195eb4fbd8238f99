#include "transform/batch/batch.hpp"

#include <optional>

#include "core/list.hpp"
#include "ops/lax.hpp"
#include "transform/batch/trace_context.hpp"
#include "transform/checks/check_trace.hpp"
#include "transform/stage/messages.hpp"

namespace apsis::detail {
namespace {

thread_local LaneLoops loops_here = LaneLoops::Automatic;

/// A batching rule runs while it lives.
class LoopsScope {
 public:
  explicit LoopsScope(LaneLoops loops) : previous_(loops_here) { loops_here = loops; }
  ~LoopsScope() { loops_here = previous_; }
  LoopsScope(const LoopsScope&) = delete;
  LoopsScope& operator=(const LoopsScope&) = delete;

 private:
  LaneLoops previous_;
};

Aval without_axis(const Aval& aval, int axis) {
  AvalData data = *aval;
  if (axis < lane_levels(data.list)) data.list = without_lanes(data.list);
  data.shape.erase(static_cast<std::size_t>(axis));
  return Aval(data);
}

Aval with_mapped_axis(const Aval& lane, std::int64_t size) {
  AvalData data = *lane;
  data.shape.insert(static_cast<std::size_t>(lane_levels(data.list)), size);
  return Aval(data);
}

}  // namespace

LaneLoops lane_loops() { return loops_here; }

Array BatchTrace::lane(const Array& value, int axis, Loc loc) const {
  if (axis < 0) return value;
  return Array::adopt(new BatchNode(*this, without_axis(value.aval(), axis), value, axis, loc));
}

std::pair<Array, int> BatchTrace::split(const Array& a) const {
  if (auto* own = own_tracer<BatchNode>(a, *this)) return {own->value, own->axis};
  return {a, -1};
}

void BatchTrace::process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                         Loc loc) {
  std::vector<Array> operands(in.size()), outs;
  std::vector<int> axes(in.size()), out_axes;
  bool any = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::tie(operands[i], axes[i]) = split(in[i]);
    any |= axes[i] >= 0;
  }
  TraceScope scope(parent());
  if (!any && !uses_axis(op, params, axis_name_)) return bind(op, params, operands, out, loc);
  if (!op.batch) fail(messages::no_batch, {op.name}, loc);
  LocScope place(loc);
  LoopsScope rule(loops_);
  op.batch({params, axis(), operands, axes, outs, out_axes});
  APSIS_ASSERT(outs.size() == out.size() && out_axes.size() == out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = lane(outs[i], out_axes[i], loc);
    if (out_axes[i] >= 0) note_lanes(outs[i], LaneAxes().within(out_axes[i]));
  }
}

const BatchTrace* find_axis(std::string_view name) {
  note_context_use();
  for (const Trace* t = current_trace(); t; t = t->parent())
    if (auto* vmap = dynamic_cast<const BatchTrace*>(t); vmap && vmap->axis().name == name) return vmap;
  return nullptr;
}

std::string axes_in_scope() {
  std::string names;
  for (const Trace* t = current_trace(); t; t = t->parent()) {
    auto* vmap = dynamic_cast<const BatchTrace*>(t);
    if (!vmap || vmap->axis().name.empty()) continue;
    names += names.empty() ? "" : ", ";
    names += vmap->axis().name;
  }
  return names.empty() ? "none" : names;
}

std::vector<NamedAxis> named_axes() {
  std::vector<NamedAxis> found;
  for (const Trace* t = current_trace(); t; t = t->parent()) {
    auto* vmap = dynamic_cast<const BatchTrace*>(t);
    if (vmap && !vmap->axis().name.empty())
      found.insert(found.begin(), {vmap->axis().size, std::string(vmap->axis().name)});
  }
  return found;
}

AxesScope::AxesScope(std::span<const NamedAxis> axes) {
  for (const NamedAxis& axis : axes) {
    axes_.push_back(std::make_unique<RememberedAxis>(current_trace(), axis, LaneLoops::Automatic));
    scopes_.push_back(std::make_unique<TraceScope>(axes_.back().get()));
  }
}
AxesScope::~AxesScope() {
  while (!scopes_.empty()) scopes_.pop_back();  // the last one first
}

BatchResult batch(const Callee& callee, MappedAxis axis, std::span<const Array> operands,
                  std::span<const int> axes, Loc loc, LaneLoops loops) {
  BatchTrace trace(current_trace(), axis, loops, loc);
  std::vector<Array> inputs(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    inputs[i] = trace.lane(operands[i], axes[i]);
    if (axes[i] >= 0) note_lanes(operands[i], LaneAxes().within(axes[i]));
  }
  BatchResult result;
  std::optional<CheckTrace> checked;
  if (const CheckTrace* around = CheckTrace::innermost()) checked.emplace(&trace, around->checks());
  TraceScope scope(checked ? static_cast<Trace*>(&*checked) : &trace);
  for (const Array& out : callee(inputs)) {
    auto [value, axis] = trace.split(out);
    result.outs.push_back(value);
    result.axes.push_back(axis);
  }
  return result;
}

int mapped_place(const Aval& whole, const Aval& lane) {
  return whole.list() == lane.list() ? lane_levels(whole.list()) : 0;
}

Array with_axis(const Array& a, int axis, int to, std::int64_t size) {
  if (axis == to || (axis >= 0 && a.aval().is_list())) return a;
  if (axis >= 0) return lax::move_axis(a, axis, to);
  Shape shape = a.shape();
  shape.insert(static_cast<std::size_t>(to), size);
  Dims axes;
  for (int i = 0; i < a.ndim(); ++i) axes.push_back(i < to ? i : i + 1);
  return lax::broadcast_in_dim(a, shape, axes);
}

MappedInputs::MappedInputs(const Graph& graph, MappedAxis axis, const std::vector<bool>& in_mask,
                           std::span<const Aval> operands) {
  for (ValueId v = 0; v < graph.input_count(); ++v) {
    const Aval& aval = graph.aval(v);
    const bool list = aval.is_list() && v < operands.size();
    avals.push_back(list ? operands[v] : in_mask[v] ? with_mapped_axis(aval, axis) : aval);
    axes.push_back(in_mask[v] ? mapped_place(avals.back(), aval) : -1);
  }
}

namespace {

GraphRef stage_batch(const Graph& graph, MappedAxis axis, const MappedInputs& inputs,
                     const std::vector<bool>& instantiate, std::vector<bool>& out_mask) {
  auto body = [&](std::span<const Array> in) {
    auto run = [&](std::span<const Array> lane) { return interpret(graph, lane); };
    BatchResult r = batch(callee_of(run), axis, in, inputs.axes);
    out_mask.assign(r.outs.size(), false);
    for (std::size_t i = 0; i < r.outs.size(); ++i) {
      out_mask[i] = r.axes[i] >= 0 || instantiate[i];
      if (out_mask[i]) r.outs[i] = with_axis(r.outs[i], r.axes[i], 0, axis);
    }
    return r.outs;
  };
  return stage_with(body, inputs.avals, "vmap").graph;
}

}  // namespace

GraphRef batch_graph(const Graph& graph, MappedAxis axis, const std::vector<bool>& in_mask,
                     const std::vector<bool>& instantiate, std::vector<bool>& out_mask,
                     std::span<const Aval> operands) {
  const MappedInputs inputs(graph, axis, in_mask, operands);
  DerivedKey key(Derivation::Batch, graph);
  key.add(axis.size);
  key.add(axis.name);
  key.add(static_cast<std::int64_t>(lane_loops()));
  key.add(inputs.avals);
  key.add(in_mask);
  key.add(instantiate);
  return derived_once(key, out_mask, [&](std::vector<bool>& mapped) {
    return stage_batch(graph, axis, inputs, instantiate, mapped);
  });
}

}  // namespace apsis::detail
