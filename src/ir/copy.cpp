#include "ir/copy.hpp"

#include "apsis/base/named_scope.hpp"

namespace apsis::detail {

void GraphCopy::add(const Eqn& e, const Params& params) {
  const ScopeOf scope(e.scope);
  results_.resize(e.result_count);
  builder_.append(*e.op, params, (*this)(graph_.operands(e)), results_, e.loc);
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (ValueId& number = numbers_[e.first_result + r]; number == unknown) number = results_[r];
  builder_.copy_lanes(graph_, e, numbers_);
}

std::vector<ValueId> GraphCopy::operator()(std::span<const ValueId> values) const {
  std::vector<ValueId> numbers(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) numbers[i] = numbers_[values[i]];
  return numbers;
}

GraphRef with_outputs(const Graph& graph, std::span<const ValueId> outputs) {
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  copy.add_equations();
  return builder.finish(copy(outputs));
}

GraphPart extract(const Graph& graph, std::span<const ValueId> outputs, const std::vector<char>& given,
                  std::span<const Eqn> effects) {
  std::vector<char> wanted(graph.value_count(), 0);
  for (ValueId v : outputs) wanted[v] = 1;
  const auto stops = [&](ValueId v) { return v < graph.input_count() || given[v]; };
  const auto runs = [&](const Eqn& e) {
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (wanted[e.first_result + r] && !stops(e.first_result + r)) return true;
    const bool among = !effects.empty() && &e >= &effects.front() && &e <= &effects.back();
    return among && has_effect(*e.op, e.params);
  };
  const auto eqns = graph.eqns();
  for (auto e = eqns.rbegin(); e != eqns.rend(); ++e)
    if (runs(*e))
      for (ValueId v : graph.operands(*e)) wanted[v] = 1;

  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  GraphPart part;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (wanted[v] && stops(v)) {
      copy.add_input(v);
      part.inputs.push_back(v);
    }
  for (const Eqn& e : eqns)
    if (runs(e)) copy.add(e);
  part.graph = builder.finish(copy(outputs));
  return part;
}

GraphRef with_params(const Graph& graph, std::span<const Params> params) {
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (std::size_t i = 0; i < params.size(); ++i) copy.add(graph.eqns()[i], params[i]);
  return builder.finish(copy.outputs());
}

}  // namespace apsis::detail
