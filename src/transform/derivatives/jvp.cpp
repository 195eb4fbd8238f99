#include "transform/derivatives/jvp.hpp"

#include "ops/lax.hpp"
#include "transform/stage/messages.hpp"

namespace apsis::detail {

Array JvpTrace::pair(const Array& primal, const Array& tangent, Loc loc) const {
  if (tangent.is_empty()) return primal;
  return Array::adopt(new DualNode(NodeKind::Jvp, *this, primal, tangent, loc));
}

std::pair<Array, Array> JvpTrace::split(const Array& a) const {
  if (auto* own = own_tracer<DualNode>(a, *this)) return {own->primal, own->tangent};
  return {a, Array{}};
}

void JvpTrace::process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                       Loc loc) {
  std::vector<Array> primals(in.size()), tangents(in.size()), out_tangents(out.size());
  bool any = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::tie(primals[i], tangents[i]) = split(in[i]);
    any |= !tangents[i].is_empty();
  }
  TraceScope scope(parent());
  if (!any) return bind(op, params, primals, out, loc);
  if (!op.jvp && op.not_differentiable) return bind_discrete(op, params, primals, out, loc);
  if (!op.jvp) fail(messages::no_jvp, {op.name, "none was given when the op was defined"}, loc);
  LocScope place(loc);
  op.jvp({params, primals, tangents, out, out_tangents});
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = pair(out[i], out_tangents[i], loc);
}

void bind_discrete(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                   Loc loc) {
  bind(op, params, in, out, loc);
  for (const Array& a : out)
    if (is_inexact(a.dtype())) fail(messages::no_jvp, {op.name, op.not_differentiable}, loc);
}

JvpResult jvp(const Callee& callee, std::span<const Array> primals, std::span<const Array> tangents,
              Loc loc) {
  JvpTrace trace(current_trace(), loc);
  std::vector<Array> inputs(primals.size());
  for (std::size_t i = 0; i < primals.size(); ++i) inputs[i] = trace.pair(primals[i], tangents[i]);
  JvpResult result;
  TraceScope scope(&trace);
  for (const Array& out : callee(inputs)) {
    auto [primal, tangent] = trace.split(out);
    result.outs.push_back(primal);
    result.tangents.push_back(tangent);
  }
  return result;
}

std::vector<Aval> avals_with_tangents(const Graph& graph, const std::vector<bool>& in_mask) {
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v) avals.push_back(graph.aval(v));
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (in_mask[v]) avals.push_back(graph.aval(v));
  return avals;
}

std::vector<Array> tangents_among(std::span<const Array> in, const std::vector<bool>& in_mask) {
  std::vector<Array> tangents(in_mask.size());
  std::size_t next = in_mask.size();
  for (std::size_t i = 0; i < in_mask.size(); ++i)
    if (in_mask[i]) tangents[i] = in[next++];
  return tangents;
}

namespace {

GraphRef stage_jvp(const Graph& graph, const std::vector<bool>& in_mask, const std::vector<bool>& instantiate,
                   std::vector<bool>& out_mask) {
  auto body = [&](std::span<const Array> in) {
    std::vector<Array> tangents = tangents_among(in, in_mask);
    auto run = [&](std::span<const Array> inputs) { return interpret(graph, inputs); };
    JvpResult r = jvp(callee_of(run), in.first(graph.input_count()), tangents);
    std::vector<Array> outs = r.outs;
    out_mask.assign(outs.size(), false);
    for (std::size_t i = 0; i < r.outs.size(); ++i) {
      out_mask[i] = !r.tangents[i].is_empty() || instantiate[i];
      if (!out_mask[i]) continue;
      outs.push_back(r.tangents[i].is_empty() ? lax::full_like(r.outs[i].aval(), 0) : r.tangents[i]);
    }
    return outs;
  };
  return stage_with(body, avals_with_tangents(graph, in_mask), "jvp").graph;
}

}  // namespace

GraphRef jvp_graph(const Graph& graph, const std::vector<bool>& in_mask, const std::vector<bool>& instantiate,
                   std::vector<bool>& out_mask) {
  DerivedKey key(Derivation::Jvp, graph);
  key.add(in_mask);
  key.add(instantiate);
  return derived_once(
      key, out_mask, [&](std::vector<bool>& moved) { return stage_jvp(graph, in_mask, instantiate, moved); });
}

}  // namespace apsis::detail
