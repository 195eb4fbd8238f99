#include "transform/derivatives/linearize.hpp"

#include <algorithm>
#include <utility>

#include "ops/lax.hpp"
#include "passes/loop_dce.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/derivatives/transpose.hpp"
#include "transform/stage/messages.hpp"

namespace apsis::detail {

void TangentTrace::process(const Op& op, const Params& params, std::span<const Array> in,
                           std::span<Array> out, Loc loc) {
  std::size_t own = 0;
  for (const Array& a : in) own += own_tracer<StageNode>(a, *this) != nullptr;
  if (own == 0) {
    TraceScope scope(parent());
    return bind(op, params, in, out, loc);
  }
  const bool mixed = own < in.size() || op.kind == OpKind::Elementwise;
  if (!mixed || !op.linearize || !splits_) return StageTrace::process(op, params, in, out, loc);
  std::vector<Array> primals(in.size()), tangents(in.size()), out_tangents(out.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    (own_tracer<StageNode>(in[i], *this) ? tangents : primals)[i] = in[i];
  LocScope place(loc);
  linearize(op, params, primals, tangents, out, out_tangents);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].is_empty()) out[i] = out_tangents[i];
}

void TangentTrace::linearize(const Op& op, const Params& params, std::span<const Array> primals,
                             std::span<const Array> tangents, std::span<Array> outs,
                             std::span<Array> out_tangents) {
  struct Whole {
    bool& splits;
    bool before = std::exchange(splits, false);
    ~Whole() { splits = before; }
  } whole{splits_};
  TraceScope scope(parent());
  op.linearize({params, primals, tangents, this, outs, out_tangents});
}

Array LinearizeTrace::pair(const Array& primal, const Array& tangent, Loc loc) const {
  if (tangent.is_empty()) return primal;
  return Array::adopt(new DualNode(NodeKind::Linearize, *this, primal, tangent, loc));
}

std::pair<Array, Array> LinearizeTrace::split(const Array& a) const {
  if (auto* own = own_tracer<DualNode>(a, *this)) return {own->primal, own->tangent};
  return {a, Array{}};
}

void LinearizeTrace::process(const Op& op, const Params& params, std::span<const Array> in,
                             std::span<Array> out, Loc loc) {
  std::vector<Array> primals(in.size()), tangents(in.size()), out_tangents(out.size());
  bool any = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::tie(primals[i], tangents[i]) = split(in[i]);
    any |= !tangents[i].is_empty();
  }
  if (!any || (!op.jvp && !op.linearize && op.not_differentiable)) {
    TraceScope scope(parent());
    if (any) return bind_discrete(op, params, primals, out, loc);
    bind(op, params, primals, out, loc);
    // Conditions for rows or whole arrays are such to whoever transposes.
    if (op.view_kind == ViewKind::Repeated && primals[0].dtype() == Dtype::Bool)
      tangent_trace_.repeat(out[0], primals[0], params);
    return;
  }
  LocScope place(loc);
  if (op.linearize) {
    tangent_trace_.linearize(op, params, primals, tangents, out, out_tangents);
  } else {
    if (!op.jvp) fail(messages::no_jvp, {op.name, "none was given when the op was defined"}, loc);
    TraceScope scope(&tangent_trace_);
    op.jvp({params, primals, tangents, out, out_tangents});
  }
  // A tangent that is no value of the tangent program is one that no input moves: zero.
  for (std::size_t i = 0; i < out.size(); ++i)
    if (own_tracer<StageNode>(out_tangents[i], tangent_trace_)) out[i] = pair(out[i], out_tangents[i], loc);
}

Linearized linearize(const Callee& callee, std::span<const Array> primals, const std::vector<bool>& in_mask,
                     Loc loc) {
  LinearizeTrace trace(current_trace(), loc);
  TangentTrace& tangents = trace.tangent_trace();
  std::vector<Array> inputs(primals.begin(), primals.end());
  for (std::size_t i = 0; i < primals.size(); ++i)
    if (in_mask[i]) inputs[i] = trace.pair(primals[i], tangents.input(primals[i].aval()));
  Linearized result;
  result.linear.in_mask = in_mask;
  std::vector<Array> out_tangents;
  {
    TraceScope scope(&trace);
    for (const Array& out : callee(inputs)) {
      auto [primal, tangent] = trace.split(out);
      result.outs.push_back(primal);
      result.linear.out_mask.push_back(!tangent.is_empty());
      if (!tangent.is_empty()) out_tangents.push_back(tangent);
    }
  }
  result.linear.graph =
      remove_dead_carries_of_linear(*tangents.finish(out_tangents, result.linear.residuals));
  return result;
}

std::vector<Array> push_forward(const Linear& linear, std::span<const Array> tangents) {
  std::vector<Array> inputs;
  std::size_t marked = 0;
  for (std::size_t i = 0; i < linear.in_mask.size(); ++i) {
    if (!linear.in_mask[i]) continue;
    const Aval& aval = linear.graph->aval(static_cast<ValueId>(marked++));
    inputs.push_back(tangents[i].is_empty() ? lax::full_like(aval, 0) : tangents[i]);
  }
  inputs.insert(inputs.end(), linear.residuals.begin(), linear.residuals.end());
  std::vector<Array> outs = interpret(*linear.graph, inputs), result(linear.out_mask.size());
  for (std::size_t i = 0, next = 0; i < result.size(); ++i)
    if (linear.out_mask[i]) result[i] = outs[next++];
  return result;
}

std::vector<Array> pull_back(const Linear& linear, std::span<const Array> cotangents) {
  std::vector<bool> mask(linear.graph->input_count(), false);
  std::size_t count = linear.graph->input_count() - linear.residuals.size();
  std::vector<Array> inputs(count);
  for (std::size_t i = 0; i < count; ++i) mask[i] = true;
  inputs.insert(inputs.end(), linear.residuals.begin(), linear.residuals.end());
  std::vector<Array> marked;
  for (std::size_t i = 0; i < linear.out_mask.size(); ++i)
    if (linear.out_mask[i]) marked.push_back(cotangents[i]);
  std::vector<Array> found = backward_pass(*linear.graph, mask, inputs, marked),
                     result(linear.in_mask.size());
  for (std::size_t i = 0, next = 0; i < result.size(); ++i)
    if (linear.in_mask[i]) result[i] = found[next++];
  return result;
}

bool is_mixed(const LinearizeRule& r) {
  return std::ranges::any_of(r.primals, [](const Array& a) { return a.is_empty(); });
}

void stage_whole(const Op& op, const LinearizeRule& r) {
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.primals.size(); ++i)
    operands.push_back(r.primals[i].is_empty() ? r.tangents[i] : r.primals[i]);
  static_cast<TangentTrace*>(r.tangent_trace)
      ->StageTrace::process(op, r.params, operands, r.out_tangents, {});
}

}  // namespace apsis::detail
