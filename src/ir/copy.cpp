#include "ir/copy.hpp"

#include <algorithm>
#include <numeric>

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

namespace {

/// What `outputs` are computed from, and what these equations do: by value.
std::vector<char> needed_for(const Graph& graph, std::span<const ValueId> outputs,
                             const std::vector<char>& given, std::span<const Eqn> effects,
                             std::vector<const Eqn*>& run) {
  std::vector<char> needed(graph.value_count(), 0);
  for (ValueId v : outputs) needed[v] = 1;
  const auto runs = [&](const Eqn& e) {
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (needed[e.first_result + r] && (given.empty() || !given[e.first_result + r])) return true;
    const bool among = !effects.empty() && &e >= &effects.front() && &e <= &effects.back();
    return among && has_effect(*e.op, e.params);
  };
  const auto eqns = graph.eqns();
  for (auto e = eqns.rbegin(); e != eqns.rend(); ++e) {
    if (!runs(*e)) continue;
    run.push_back(&*e);
    for (ValueId v : graph.operands(*e)) needed[v] = 1;
  }
  std::ranges::reverse(run);
  return needed;
}

}  // namespace

GraphRef extract(const Graph& graph, std::span<const ValueId> outputs, std::span<const ValueId> given,
                 std::span<const Eqn> effects) {
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  std::vector<char> is_given(graph.value_count(), 0);
  for (ValueId v : given) {
    is_given[v] = 1;
    copy.add_input(v);
  }
  std::vector<const Eqn*> run;
  const std::vector<char> needed = needed_for(graph, outputs, is_given, effects, run);
  for (ValueId v = 0; v < graph.input_count(); ++v) APSIS_ASSERT(!needed[v] || is_given[v]);
  for (const Eqn* e : run) copy.add(*e);
  return builder.finish(copy(outputs));
}

GraphPart extract(const Graph& graph, std::span<const ValueId> outputs, const std::vector<char>& given,
                  std::span<const Eqn> effects) {
  GraphPart part;
  std::vector<const Eqn*> run;
  const std::vector<char> needed = needed_for(graph, outputs, given, effects, run);
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (needed[v] && (v < graph.input_count() || (!given.empty() && given[v]))) part.inputs.push_back(v);
  part.graph = extract(graph, outputs, part.inputs, effects);
  return part;
}

std::vector<std::uint32_t> count_uses(const Graph& graph) {
  std::vector<std::uint32_t> uses(graph.value_count(), 0);
  for (const Eqn& e : graph.eqns())
    for (ValueId v : graph.operands(e)) ++uses[v];
  for (ValueId v : graph.outputs()) ++uses[v];
  return uses;
}

std::vector<Array> interpret(const GraphPart& part, std::span<const Array> values) {
  std::vector<Array> inputs;
  for (ValueId v : part.inputs) inputs.push_back(values[v]);
  return interpret(*part.graph, inputs);
}

GraphRef with_values_given(const Graph& graph, std::span<const ValueId> given,
                           std::span<const ValueId> outputs) {
  std::vector<ValueId> inputs(graph.input_count());
  std::iota(inputs.begin(), inputs.end(), ValueId{0});
  inputs.insert(inputs.end(), given.begin(), given.end());
  return extract(graph, outputs, inputs, graph.eqns());
}

GraphRef with_outputs(const Graph& graph, std::span<const ValueId> outputs) {
  return with_values_given(graph, {}, outputs);
}

GraphRef with_outputs(const Graph& graph, const std::vector<bool>& marked) {
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < marked.size(); ++i)
    if (marked[i]) outputs.push_back(graph.outputs()[i]);
  return with_outputs(graph, outputs);
}

GraphRef with_params(const Graph& graph, std::span<const Params> params) {
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (std::size_t i = 0; i < params.size(); ++i) copy.add(graph.eqns()[i], params[i]);
  return builder.finish(copy.outputs());
}

}  // namespace apsis::detail
