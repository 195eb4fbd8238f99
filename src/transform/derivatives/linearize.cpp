#include "transform/derivatives/linearize.hpp"

#include <algorithm>
#include <utility>

#include "ops/lax.hpp"
#include "ops/view_params.hpp"
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
    if (&op == &broadcast_in_dim_op && primals[0].dtype() == Dtype::Bool)
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
  const GraphRef staged = stage_with(body, avals_with_tangents(graph, in_mask), "linearize").graph;
  GraphRef made = remove_dead_carries_of_linear(*without_effects(*staged));
  if (made->has_effect()) fail(messages::effect_again, {});
  return made;
}

SplitGraph split_graph(const Graph& graph, const std::vector<bool>& in_mask) {
  SplitGraph split;
  split.known_mask.assign(graph.outputs().size(), true);
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

SplitGraph split_known(const Graph& graph, const std::vector<bool>& in_mask) {
  SplitGraph split;
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (!in_mask[v]) avals.push_back(graph.aval(v));
  auto body = [&](std::span<const Array> in) {
    TangentTrace tangents(current_trace());
    std::vector<Array> inputs, outs, linear, residuals;
    for (ValueId v = 0, next = 0; v < graph.input_count(); ++v)
      inputs.push_back(in_mask[v] ? tangents.input(graph.aval(v)) : in[next++]);
    TraceScope scope(&tangents);
    for (const Array& out : interpret(graph, inputs)) {
      split.out_mask.push_back(own_tracer<StageNode>(out, tangents) != nullptr);
      split.known_mask.push_back(!split.out_mask.back());
      (split.out_mask.back() ? linear : outs).push_back(out);
    }
    split.linear = tangents.finish(linear, residuals);
    split.residual_count = residuals.size();
    outs.insert(outs.end(), residuals.begin(), residuals.end());
    return outs;
  };
  split.known = stage_with(body, avals, "linearize").graph;
  return split;
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

SplitCall split_call(const Graph& region, const LinearizeRule& r) {
  std::vector<bool> marked;
  for (const Array& t : r.tangents) marked.push_back(!t.is_empty());
  SplitCall split{is_mixed(r) ? split_known(region, marked) : split_graph(region, marked)};
  split.tangent_operands = marked;
  for (std::size_t i = 0; i < r.primals.size(); ++i) {
    split.known_operands.push_back(!r.primals[i].is_empty());
    if (!r.primals[i].is_empty()) split.known_in.push_back(r.primals[i]);
    if (marked[i]) split.tangents_in.push_back(r.tangents[i]);
  }
  return split;
}

void SplitCall::take(const LinearizeRule& r, std::span<const Array> results,
                     std::span<const Array> tangents) const {
  for (std::size_t i = 0, next = 0, next_tangent = 0; i < r.outs.size(); ++i) {
    if (known_mask[i]) r.outs[i] = results[next++];
    if (out_mask[i]) r.out_tangents[i] = tangents[next_tangent++];
  }
}

GraphRef known_part(const SplitGraph& split, const std::vector<bool>& out_mask) {
  std::vector<Aval> avals;
  for (ValueId v = 0; v < split.known->input_count(); ++v) avals.push_back(split.known->aval(v));
  auto body = [&](std::span<const Array> in) {
    std::vector<Array> found = interpret(*split.known, in), outs;
    for (std::size_t i = 0, next = 0; i < out_mask.size(); ++i)
      if (split.known_mask[i] && !out_mask[i])
        outs.push_back(found[next++]);
      else
        next += split.known_mask[i];
    return outs;
  };
  return stage_with(body, avals, "linearize").graph;
}

GraphRef linear_part(const SplitGraph& split, const std::vector<bool>& out_mask) {
  const GraphRef known = without_effects(*split.known);  // `known_part` has them
  const std::size_t plain = known->input_count(), residuals = split.residual_count;
  std::vector<Aval> avals;
  for (ValueId v = 0; v < plain; ++v) avals.push_back(known->aval(v));
  for (ValueId v = 0; v + residuals < split.linear->input_count(); ++v)
    avals.push_back(split.linear->aval(v));
  auto body = [&](std::span<const Array> in) {
    std::vector<Array> values = interpret(*known, in.first(plain)),
                       linear_in(in.begin() + static_cast<std::ptrdiff_t>(plain), in.end()), outs;
    linear_in.insert(linear_in.end(), values.end() - static_cast<std::ptrdiff_t>(residuals), values.end());
    std::vector<Array> linear = interpret(*split.linear, linear_in);
    for (std::size_t i = 0, k = 0, l = 0; i < out_mask.size(); ++i) {
      const Array& out = split.out_mask[i] ? linear[l++] : values[k++];
      if (out_mask[i]) outs.push_back(out);
    }
    return outs;
  };
  GraphRef made = without_effects(*stage_with(body, avals, "linearize").graph);
  if (made->has_effect()) fail(messages::effect_again, {});
  return made;
}

}  // namespace apsis::detail
