#include "transform/transpose.hpp"

#include <memory>

#include "apsis/base/named_scope.hpp"
#include "ir/regions.hpp"
#include "ops/lax.hpp"
#include "transform/messages.hpp"
#include "transform/stage.hpp"

namespace apsis::detail {

extern const Op add_op, scan_op;

namespace {

/// Entry by entry: the records of a loop are read by more than one loop when it is differentiated again and
/// again.
Array add_lists(const Array& a, const Array& b) {
  AvalData entry = *a.aval();
  entry.list = ListKind::None;
  GraphBuilder builder;
  const ValueId operands[] = {builder.input(Aval(entry)), builder.input(Aval(entry))};
  ValueId sum;
  builder.add(add_op, {}, operands, {&sum, 1});
  ScanParams p;
  p.body = builder.finish({&sum, 1});
  p.length = -1;
  const Array lists[] = {a, b};
  return bind_all(scan_op, make_params(p), lists)[0];
}

}  // namespace

std::vector<Array> backward_pass(const Graph& graph, const std::vector<bool>& linear,
                                 std::span<const Array> inputs, std::span<const Array> cotangents) {
  std::vector<Array> values(graph.value_count()), cts(graph.value_count());
  std::vector<char> is_linear(graph.value_count(), 0);
  for (ValueId v = 0; v < graph.input_count(); ++v) {
    is_linear[v] = linear[v];
    if (!linear[v]) values[v] = inputs[v];
  }
  std::vector<Array> in;
  for (const Eqn& e : graph.eqns()) {
    char depends = 0;
    for (ValueId v : graph.operands(e)) depends |= is_linear[v];
    for (std::uint32_t r = 0; r < e.result_count; ++r) is_linear[e.first_result + r] = depends;
    if (depends) continue;
    std::span<Array> out{values.data() + e.first_result, e.result_count};
    if (e.op == &constant_op) {
      out[0] = constant_value(e.params);
      continue;
    }
    in.clear();
    for (ValueId v : graph.operands(e)) in.push_back(values[v]);
    ScopeOf scope(e.scope);
    bind(*e.op, e.params, in, out, e.loc);
  }

  auto accumulate = [&](ValueId v, Array ct) {
    if (cts[v].is_empty())
      cts[v] = std::move(ct);
    else
      cts[v] = ct.aval().is_list() ? add_lists(cts[v], ct) : lax::add(cts[v], ct);
  };
  auto outputs = graph.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!cotangents[i].is_empty() && is_linear[outputs[i]]) accumulate(outputs[i], cotangents[i]);

  std::vector<Array> operands, out;
  std::vector<Aval> avals;
  std::unique_ptr<bool[]> mask;
  std::size_t mask_size = 0;
  auto eqns = graph.eqns();
  for (std::size_t i = eqns.size(); i-- > 0;) {
    const Eqn& e = eqns[i];
    if (e.result_count == 0 || !is_linear[e.first_result]) continue;
    std::span<Array> result_cts{cts.data() + e.first_result, e.result_count};
    bool any = false;
    for (const Array& ct : result_cts) any |= !ct.is_empty();
    if (!any) continue;
    if (!e.op->transpose) fail(messages::no_transpose, {e.op->name}, e.loc);
    auto ids = graph.operands(e);
    if (ids.size() > mask_size) mask.reset(new bool[mask_size = ids.size()]);
    operands.assign(ids.size(), {});
    out.assign(ids.size(), {});
    avals.clear();
    for (std::size_t k = 0; k < ids.size(); ++k) {
      mask[k] = is_linear[ids[k]];
      if (!mask[k]) operands[k] = values[ids[k]];
      avals.push_back(graph.aval(ids[k]));
    }
    ScopeOf scope(e.scope);
    LocScope place(e.loc);
    e.op->transpose({e.params, operands, avals, {mask.get(), ids.size()}, result_cts, out});
    for (Array& ct : result_cts) ct = Array{};
    for (std::size_t k = 0; k < ids.size(); ++k)
      if (!out[k].is_empty() && mask[k]) accumulate(ids[k], std::move(out[k]));
  }
  std::vector<Array> result;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (linear[v]) result.push_back(cts[v]);
  return result;
}

GraphRef transpose_graph(const Graph& graph, const std::vector<bool>& linear,
                         const std::vector<bool>& ct_mask, const std::vector<bool>& instantiate,
                         std::vector<bool>& out_mask) {
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (!linear[v]) avals.push_back(graph.aval(v));
  for (std::size_t i = 0; i < ct_mask.size(); ++i)
    if (ct_mask[i]) avals.push_back(graph.aval(graph.outputs()[i]));
  auto body = [&](std::span<const Array> in) {
    std::vector<Array> inputs(graph.input_count()), cts(ct_mask.size());
    std::size_t next = 0;
    for (ValueId v = 0; v < graph.input_count(); ++v)
      if (!linear[v]) inputs[v] = in[next++];
    for (std::size_t i = 0; i < ct_mask.size(); ++i)
      if (ct_mask[i]) cts[i] = in[next++];
    std::vector<Array> found = backward_pass(graph, linear, inputs, cts), outs;
    out_mask.assign(found.size(), false);
    for (ValueId v = 0, k = 0; v < graph.input_count(); ++v) {
      if (!linear[v]) continue;
      out_mask[k] = !found[k].is_empty() || instantiate[k];
      if (out_mask[k]) outs.push_back(found[k].is_empty() ? lax::full_like(graph.aval(v), 0) : found[k]);
      ++k;
    }
    return outs;
  };
  return stage_with(body, avals, "transpose").graph;
}

}  // namespace apsis::detail
