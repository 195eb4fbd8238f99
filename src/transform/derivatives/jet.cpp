// Taylor mode. The derivatives of a result follow from the jvp rule: with y = f(x), the derivative of order k
// of y is that of order k-1 of f'(x) x', which is a program with derivatives of lower order. Where f'(x) x'
// does not read x, as for all linear ops, it is applied to each order by itself. Products and quotients,
// whose tangents are made of several nonlinear ops, have rules of their own (`Op::jet`). So have regions.

#include "transform/derivatives/jet.hpp"

#include "apsis/transform/jet.hpp"
#include "ops/lax.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/stage/messages.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {
namespace {

bool all_zero(const std::vector<Array>& series) {
  for (const Array& a : series)
    if (!a.is_empty()) return false;
  return true;
}

/// Whether any output is computed from an input that is marked.
bool reads(const Graph& graph, std::vector<bool> marked) {
  marked.resize(graph.value_count(), false);
  for (const Eqn& e : graph.eqns())
    for (ValueId v : graph.operands(e))
      if (marked[v])
        for (std::uint32_t r = 0; r < e.result_count; ++r) marked[e.first_result + r] = true;
  for (ValueId v : graph.outputs())
    if (marked[v]) return true;
  return false;
}

/// (operands…, tangents of those marked…) → the tangents of the results marked in `out_mask`.
GraphRef tangent_program(const Op& op, const Params& params, std::span<const Array> primals,
                         std::size_t results, const std::vector<bool>& in_mask, std::vector<bool>& out_mask) {
  GraphBuilder builder;
  std::vector<ValueId> operands, outs(results);
  for (const Array& a : primals) operands.push_back(builder.input(a.aval()));
  builder.append(op, params, operands, outs);
  GraphRef single = builder.finish(outs);
  GraphRef both = jvp_graph(*single, in_mask, std::vector<bool>(results, false), out_mask);
  std::vector<Aval> avals;
  for (ValueId v = 0; v < both->input_count(); ++v) avals.push_back(both->aval(v));
  auto tangents = [&](std::span<const Array> in) {
    std::vector<Array> found = interpret(*both, in);
    return std::vector<Array>(found.begin() + static_cast<std::ptrdiff_t>(results), found.end());
  };
  return stage_with(tangents, avals, "jet").graph;
}

void jet_by_jvp(const Op& op, const JetRule& r) {
  bind(op, r.params, r.primals, r.outs);
  std::vector<bool> mask = has_series(r.series), out_mask;
  GraphRef tangent = tangent_program(op, r.params, r.primals, r.outs.size(), mask, out_mask);
  std::vector<std::size_t> moving, found;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) moving.push_back(i);
  for (std::size_t i = 0; i < out_mask.size(); ++i)
    if (out_mask[i]) found.push_back(i);
  for (std::size_t i : found) r.out_series[i].resize(r.order);

  if (!reads(*tangent, mask)) {
    for (std::size_t k = 0; k < r.order; ++k) {
      std::vector<Array> inputs(r.primals.begin(), r.primals.end());
      bool any = false;
      for (std::size_t i : moving) {
        const Array& term = r.series[i][k];
        any |= !term.is_empty();
        inputs.push_back(term.is_empty() ? lax::full_like(r.primals[i].aval(), 0) : term);
      }
      if (!any) continue;
      std::vector<Array> terms = interpret(*tangent, inputs);
      for (std::size_t i = 0; i < found.size(); ++i) r.out_series[found[i]][k] = terms[i];
    }
    return;
  }
  std::vector<JetValue> inputs;
  auto shorter = [&](const std::vector<Array>& series, std::size_t from) {
    return std::vector<Array>(series.begin() + static_cast<std::ptrdiff_t>(from),
                              series.begin() + static_cast<std::ptrdiff_t>(from + r.order - 1));
  };
  for (std::size_t i = 0; i < mask.size(); ++i)
    inputs.push_back({r.primals[i], mask[i] ? shorter(r.series[i], 0) : std::vector<Array>()});
  for (std::size_t i : moving) {
    const Array& first = r.series[i][0];
    inputs.push_back(
        {first.is_empty() ? lax::full_like(r.primals[i].aval(), 0) : first, shorter(r.series[i], 1)});
  }
  std::vector<JetValue> rates = run_jet(*tangent, std::move(inputs), r.order - 1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<Array>& series = r.out_series[found[i]];
    series[0] = rates[i].value;
    for (std::size_t k = 0; k < rates[i].series.size(); ++k) series[k + 1] = rates[i].series[k];
  }
}

}  // namespace

std::vector<bool> has_series(std::span<const std::vector<Array>> series) {
  std::vector<bool> out;
  for (const auto& s : series) out.push_back(!s.empty());
  return out;
}

std::vector<Array> series_of(std::span<const Array> primals, std::span<const std::vector<Array>> series,
                             std::size_t order, const std::vector<bool>& mask) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < primals.size(); ++i) {
    if (!mask[i]) continue;
    for (std::size_t k = 0; k < order; ++k) {
      bool zero = series[i].empty() || series[i][k].is_empty();
      out.push_back(zero ? lax::full_like(primals[i].aval(), 0) : series[i][k]);
    }
  }
  return out;
}

std::vector<JetValue> run_jet(const Graph& graph, std::vector<JetValue> inputs, std::size_t order) {
  std::vector<JetValue> values(graph.value_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = std::move(inputs[i]);
  std::vector<Array> primals, outs;
  std::vector<std::vector<Array>> series, out_series;
  for (const Eqn& e : graph.eqns()) {
    if (e.op->kind == OpKind::Constant) {
      values[e.first_result].value = constant_value(e.params);
      continue;
    }
    primals.clear();
    series.clear();
    bool moves = false;
    for (ValueId v : graph.operands(e)) {
      primals.push_back(values[v].value);
      series.push_back(all_zero(values[v].series) ? std::vector<Array>() : values[v].series);
      moves |= !series.back().empty();
    }
    outs.assign(e.result_count, {});
    out_series.assign(e.result_count, {});
    if (!moves || order == 0) {
      bind(*e.op, e.params, primals, outs, e.loc);
    } else if (!e.op->jet && !e.op->jvp && e.op->not_differentiable) {
      bind_discrete(*e.op, e.params, primals, outs, e.loc);
    } else {
      const JetRule rule{e.params, order, primals, series, outs, out_series};
      if (e.op->jet)
        e.op->jet(rule);
      else if (e.op->jvp)
        jet_by_jvp(*e.op, rule);
      else
        fail(messages::no_jvp, {e.op->name, "none was given when the op was defined"}, e.loc);
    }
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      values[e.first_result + r] = {std::move(outs[r]), std::move(out_series[r])};
  }
  std::vector<JetValue> results;
  for (ValueId v : graph.outputs()) results.push_back(values[v]);
  return results;
}

namespace {

GraphRef stage_jet(const Graph& graph, std::size_t order, const std::vector<bool>& in_mask,
                   const std::vector<bool>& instantiate, std::vector<bool>& out_mask) {
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v) avals.push_back(graph.aval(v));
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (in_mask[v]) avals.insert(avals.end(), order, graph.aval(v));
  auto body = [&](std::span<const Array> in) {
    std::vector<JetValue> inputs;
    std::size_t next = graph.input_count();
    for (std::size_t i = 0; i < graph.input_count(); ++i) {
      JetValue value{in[i], {}};
      for (std::size_t k = 0; in_mask[i] && k < order; ++k) value.series.push_back(in[next++]);
      inputs.push_back(std::move(value));
    }
    std::vector<JetValue> found = run_jet(graph, std::move(inputs), order);
    std::vector<Array> outs;
    out_mask.assign(found.size(), false);
    for (const JetValue& v : found) outs.push_back(v.value);
    for (std::size_t i = 0; i < found.size(); ++i) {
      out_mask[i] = !all_zero(found[i].series) || instantiate[i];
      if (!out_mask[i]) continue;
      found[i].series.resize(order);
      for (const Array& a : found[i].series)
        outs.push_back(a.is_empty() ? lax::full_like(found[i].value.aval(), 0) : a);
    }
    return outs;
  };
  return stage_with(body, avals, "jet").graph;
}

}  // namespace

GraphRef jet_graph(const Graph& graph, std::size_t order, const std::vector<bool>& in_mask,
                   const std::vector<bool>& instantiate, std::vector<bool>& out_mask) {
  DerivedKey key(Derivation::Jet, graph);
  key.add(static_cast<std::int64_t>(order));
  key.add(in_mask);
  key.add(instantiate);
  return derived_once(key, out_mask, [&](std::vector<bool>& moved) {
    return stage_jet(graph, order, in_mask, instantiate, moved);
  });
}

void jet_of_program(const Graph& program, const JetRule& r) {
  std::vector<JetValue> inputs;
  for (std::size_t i = 0; i < r.primals.size(); ++i) inputs.push_back({r.primals[i], r.series[i]});
  std::vector<JetValue> found = run_jet(program, std::move(inputs), r.order);
  for (std::size_t i = 0; i < found.size(); ++i) {
    r.outs[i] = found[i].value;
    r.out_series[i] = found[i].series;
  }
}

JetCall jet_call(const Callee& callee, std::span<const Array> leaves,
                 std::span<const std::vector<Array>> series, Loc loc) {
  std::vector<Aval> avals;
  std::vector<JetValue> inputs;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Aval& want = leaves[i].aval();
    avals.push_back(want);
    inputs.push_back({leaves[i], {}});
    if (!is_inexact(want.dtype())) continue;
    for (const auto& terms : series) {
      Array term = terms[i];
      if (!term.is_empty()) {
        if (term.shape() != want.shape() || (term.dtype() != want.dtype() && !term.weak()))
          fail(messages::tangent_mismatch,
               {"jet", "derivative", callee.inputs(i), to_string(term.aval()), to_string(want)}, loc);
        if (term.dtype() != want.dtype()) term = lax::convert(term, want.dtype());
      }
      inputs.back().series.push_back(term);
    }
  }
  Staged staged = stage(callee, avals, "jet", loc);
  for (const Array& a : staged.captures) inputs.push_back({a, {}});
  std::vector<JetValue> found = run_jet(*staged.graph, std::move(inputs), series.size());
  JetCall result;
  result.series.resize(series.size());
  for (JetValue& v : found) {
    v.series.resize(series.size());
    for (std::size_t k = 0; k < series.size(); ++k)
      result.series[k].push_back(v.series[k].is_empty() && is_inexact(v.value.dtype())
                                     ? lax::full_like(v.value.aval(), 0)
                                     : v.series[k]);
    result.outs.push_back(std::move(v.value));
  }
  return result;
}

}  // namespace apsis::detail
