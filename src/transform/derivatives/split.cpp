#include "transform/derivatives/split.hpp"

#include <algorithm>

#include "ops/lax.hpp"
#include "passes/loop_dce.hpp"
#include "transform/stage/messages.hpp"

namespace apsis::detail {
namespace {

/// Computes what is known, under the current trace, and stages the rest. `in`: the inputs known.
Linearized evaluate_known(const Graph& graph, std::span<const Array> in, const std::vector<bool>& marked,
                          Marked what) {
  const auto run = [&](std::span<const Array> inputs) { return interpret(graph, inputs); };
  if (what == Marked::Moving) return linearize(callee_of(run), in, marked);
  TangentTrace tangents(current_trace());
  Linearized r;
  std::vector<Array> inputs, linear;
  for (ValueId v = 0, next = 0; v < graph.input_count(); ++v)
    inputs.push_back(marked[v] ? tangents.input(graph.aval(v)) : in[next++]);
  TraceScope scope(&tangents);
  r.outs = run(inputs);
  for (Array& out : r.outs) {
    r.linear.out_mask.push_back(own_tracer<StageNode>(out, tangents) != nullptr);
    if (r.linear.out_mask.back()) linear.push_back(std::move(out));
  }
  r.linear.graph = tangents.finish(linear, r.linear.residuals);
  return r;
}

std::vector<Aval> avals_of_inputs(const Graph& graph, const std::vector<bool>& mask, bool value) {
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (mask[v] == value) avals.push_back(graph.aval(v));
  return avals;
}

/// What the part that is known returns of the outputs.
std::vector<bool> known_outputs(const std::vector<bool>& out_mask, Marked what) {
  std::vector<bool> known(out_mask.size(), true);
  for (std::size_t i = 0; i < out_mask.size(); ++i) known[i] = what == Marked::Moving || !out_mask[i];
  return known;
}

/// Those of the linear part, from (inputs known…, the others…).
GraphRef compute_again(const Graph& graph, const std::vector<bool>& marked, Marked what,
                       const std::vector<bool>& instantiate, std::vector<Aval> avals,
                       std::vector<bool>& out_mask) {
  const GraphRef pure = without_effects(graph);  // the known part has them
  const std::size_t known = avals.size();
  for (const Aval& a : avals_of_inputs(graph, marked, true)) avals.push_back(a);
  const auto body = [&](std::span<const Array> in) {
    const Linearized r = evaluate_known(*pure, in.first(known), marked, what);
    std::vector<Array> inputs(in.begin() + static_cast<std::ptrdiff_t>(known), in.end()), outs;
    inputs.insert(inputs.end(), r.linear.residuals.begin(), r.linear.residuals.end());
    const std::vector<Array> found = interpret(*r.linear.graph, inputs);
    out_mask = r.linear.out_mask;
    for (std::size_t i = 0, next = 0; i < out_mask.size(); ++i) {
      if (out_mask[i])
        outs.push_back(found[next++]);
      else if (instantiate[i])
        outs.push_back(what == Marked::Moving ? lax::full_like(r.outs[i].aval(), 0) : r.outs[i]);
      out_mask[i] = out_mask[i] || instantiate[i];
    }
    return outs;
  };
  GraphRef made = without_effects(*stage_with(body, avals, "linearize").graph);
  if (what == Marked::Moving) made = remove_dead_carries_of_linear(*made);
  if (made->has_effect()) fail(messages::effect_again, {});
  return made;
}

Split make_split(const Graph& graph, const std::vector<bool>& marked, Marked what, Keep keep,
                 const std::vector<bool>& instantiate) {
  Split split;
  const bool moving = what == Marked::Moving;
  const std::vector<Aval> avals =
      avals_of_inputs(graph, moving ? std::vector<bool>(marked.size(), false) : marked, false);
  if (keep == Keep::Nothing)
    split.linear = compute_again(graph, marked, what, instantiate, avals, split.out_mask);
  if (keep == Keep::Nothing && moving) {
    split.known = GraphRef(&graph);
    split.known_mask = known_outputs(split.out_mask, what);
    return split;
  }
  const auto body = [&](std::span<const Array> in) {
    const Linearized r = evaluate_known(graph, in, marked, what);
    if (keep == Keep::Residuals) {
      split.linear = r.linear.graph;
      split.out_mask = r.linear.out_mask;
      split.residual_count = r.linear.residuals.size();
    }
    split.known_mask = known_outputs(split.out_mask, what);
    std::vector<Array> outs;
    for (std::size_t i = 0; i < r.outs.size(); ++i)
      if (split.known_mask[i]) outs.push_back(r.outs[i]);
    if (keep == Keep::Residuals)
      outs.insert(outs.end(), r.linear.residuals.begin(), r.linear.residuals.end());
    return outs;
  };
  split.known = stage_with(body, avals, "linearize").graph;
  return split;
}

}  // namespace

Split split(const Graph& graph, const std::vector<bool>& marked, Marked what, Keep keep,
            const std::vector<bool>& instantiate) {
  DerivedKey key(Derivation::Split, graph);
  key.add(marked);
  key.add(static_cast<std::int64_t>(what));
  key.add(static_cast<std::int64_t>(keep));
  key.add(instantiate);
  return derived_once(key, [&] { return make_split(graph, marked, what, keep, instantiate); });
}

void Split::take(const LinearizeRule& r, std::span<const Array> results,
                 std::span<const Array> tangents) const {
  for (std::size_t i = 0, next = 0, next_tangent = 0; i < r.outs.size(); ++i) {
    if (known_mask[i]) r.outs[i] = results[next++];
    if (out_mask[i]) r.out_tangents[i] = tangents[next_tangent++];
  }
}

SplitCall::SplitCall(const Graph& region, const LinearizeRule& r) {
  for (std::size_t i = 0; i < r.primals.size(); ++i) {
    known_operands.push_back(!r.primals[i].is_empty());
    tangent_operands.push_back(!r.tangents[i].is_empty());
    if (known_operands[i]) known_in.push_back(r.primals[i]);
    if (tangent_operands[i]) tangents_in.push_back(r.tangents[i]);
  }
  static_cast<Split&>(*this) = split(region, tangent_operands, marked_operands(r), Keep::Residuals);
}

}  // namespace apsis::detail
