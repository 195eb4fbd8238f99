#include "transform/linearize.hpp"

#include "ops/lax.hpp"
#include "transform/jvp.hpp"
#include "transform/messages.hpp"
#include "transform/transpose.hpp"

namespace apsis::detail {

void TangentTrace::process(const Op& op, const Params& params, std::span<const Array> in,
                           std::span<Array> out, Loc loc) {
  for (const Array& a : in)
    if (own_tracer<StageNode>(a, *this)) return StageTrace::process(op, params, in, out, loc);
  TraceScope scope(parent());
  bind(op, params, in, out, loc);
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
    return bind(op, params, primals, out, loc);
  }
  LocScope place(loc);
  if (op.linearize) {
    TraceScope scope(parent());
    op.linearize({params, primals, tangents, &tangent_trace_, out, out_tangents});
  } else {
    if (!op.jvp) fail(messages::no_jvp, {op.name, "none was given when the op was defined"}, loc);
    TraceScope scope(&tangent_trace_);
    op.jvp({params, primals, tangents, out, out_tangents});
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = pair(out[i], out_tangents[i], loc);
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
  result.linear.graph = tangents.finish(out_tangents, result.linear.residuals);
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

GraphRef tangent_graph(const Graph& graph, const std::vector<bool>& in_mask,
                       const std::vector<bool>& instantiate, std::vector<bool>& out_mask) {
  GraphRef pure = without_effects(graph);  // the primal program has them
  auto body = [&](std::span<const Array> in) {
    std::vector<Array> tangents = tangents_among(in, in_mask);
    auto run = [&](std::span<const Array> inputs) { return interpret(*pure, inputs); };
    Linearized r = linearize(callee_of(run), in.first(graph.input_count()), in_mask);
    std::vector<Array> found = push_forward(r.linear, tangents), outs;
    out_mask.assign(found.size(), false);
    for (std::size_t i = 0; i < found.size(); ++i) {
      out_mask[i] = !found[i].is_empty() || instantiate[i];
      if (out_mask[i]) outs.push_back(found[i].is_empty() ? lax::full_like(r.outs[i].aval(), 0) : found[i]);
    }
    return outs;
  };
  GraphRef made = stage_with(body, avals_with_tangents(graph, in_mask), "linearize").graph;
  if (made->has_effect()) fail(messages::effect_again, {});
  return made;
}

SplitGraph split_graph(const Graph& graph, const std::vector<bool>& in_mask) {
  SplitGraph split;
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v) avals.push_back(graph.aval(v));
  auto body = [&](std::span<const Array> in) {
    auto run = [&](std::span<const Array> inputs) { return interpret(graph, inputs); };
    Linearized r = linearize(callee_of(run), in, in_mask);
    split.linear = r.linear.graph;
    split.out_mask = r.linear.out_mask;
    split.residual_count = r.linear.residuals.size();
    std::vector<Array> outs = r.outs;
    outs.insert(outs.end(), r.linear.residuals.begin(), r.linear.residuals.end());
    return outs;
  };
  split.known = stage_with(body, avals, "linearize").graph;
  return split;
}

}  // namespace apsis::detail
