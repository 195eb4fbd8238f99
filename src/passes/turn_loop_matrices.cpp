#include "passes/turn_loop_matrices.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ir/loop.hpp"
#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t smallest = 1 << 12;  // elements: fewer are copied in no time
constexpr std::int64_t most_rows = 512;     // which share a copy of the matrix
constexpr std::int64_t fewest_trips = 4;

/// Whether the product of several rows reads its right operand row by row, each the terms of one column.
bool is_of_rows(const Graph& graph, const Eqn& e) {
  if (e.op != &dot_general_op) return false;
  const auto& p = e.params.as<DotParams>();
  const Aval &a = graph.aval(graph.operands(e)[0]), &b = graph.aval(graph.operands(e)[1]);
  if (b.rank() != 2 || b.size() < smallest || is_complex(b.dtype()) || !p.batch_b.empty() ||
      p.contract_b != Dims{1} || is_k_ordered(p, a.shape(), b.shape()))
    return false;
  const DotSizes sizes(p, a.shape(), b.shape());
  return sizes.m > 1 && sizes.m <= most_rows;
}

/// By constant of a loop: whether its body reads it in such products alone.
std::vector<char> turned_constants(const Loop& loop) {
  std::vector<char> read(loop.body->value_count(), 0), elsewhere(loop.body->value_count(), 0);
  for (const Eqn& e : loop.body->eqns()) {
    const auto operands = loop.body->operands(e);
    for (std::size_t k = 0; k < operands.size(); ++k)
      (k == 1 && is_of_rows(*loop.body, e) ? read : elsewhere)[operands[k]] = 1;
  }
  for (ValueId v : loop.body->outputs()) elsewhere[v] = 1;
  std::vector<char> turned(loop.consts, 0);
  for (std::size_t i = 0; i < loop.consts; ++i) turned[i] = static_cast<char>(read[i] && !elsewhere[i]);
  return turned;
}

Aval turned(const Aval& aval) { return {aval.dtype(), Shape{aval.shape()[1], aval.shape()[0]}, aval.weak()}; }

GraphRef with_turned(const Graph& body, const std::vector<char>& constants) {
  const auto is_turned = [&](ValueId v) { return v < constants.size() && constants[v] != 0; };
  GraphBuilder builder;
  GraphCopy copy(builder, body);
  for (ValueId v = 0; v < body.input_count(); ++v)
    is_turned(v) ? void(copy[v] = builder.input(turned(body.aval(v)))) : copy.add_input(v);
  for (const Eqn& e : body.eqns()) {
    if (e.op != &dot_general_op || !is_turned(body.operands(e)[1])) {
      copy.add(e);
      continue;
    }
    const ScopeOf scope(e.scope);
    DotParams p = e.params.as<DotParams>();
    p.contract_b = {0};
    const ValueId operands[] = {copy[body.operands(e)[0]], copy[body.operands(e)[1]]};
    copy[e.first_result] = append1(builder, dot_general_op, make_params(p), operands, e.loc);
  }
  return builder.finish(copy.outputs());
}

/// The constants to turn of a loop that makes several trips; empty if there are none.
std::vector<char> to_turn(const Eqn& e) {
  if (!is_loop(e)) return {};
  const Loop loop(e);
  if (loop.length >= 0 && loop.length < fewest_trips) return {};
  std::vector<char> constants = turned_constants(loop);
  return std::ranges::count(constants, 1) > 0 ? constants : std::vector<char>();
}

GraphRef turn(const Graph& graph) {
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (const Eqn& e : graph.eqns()) {
    const std::vector<char> constants = to_turn(e);
    if (constants.empty()) {
      copy.add(e);
      continue;
    }
    const ScopeOf scope(e.scope);
    const Loop loop(e);
    std::vector<ValueId> operands;
    for (ValueId v : graph.operands(e)) operands.push_back(copy[v]);
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (!constants[i]) continue;
      ValueId& matrix = operands[loop.cond_consts + i];
      const ValueId view =
          append1(builder, transpose_op, make_params(TransposeParams{{1, 0}}), {&matrix, 1}, e.loc);
      // In memory of its own, which a view is not: the concatenation of one.
      matrix = append1(builder, concatenate_op, make_params(ConcatenateParams{0}), {&view, 1}, e.loc);
    }
    const Params params = map_regions(e.params, [&](const Graph& region) {
      return &region == loop.body ? with_turned(region, constants) : GraphRef(&region);
    });
    std::vector<ValueId> results(e.result_count);
    builder.append(*e.op, params, operands, results, e.loc);
    std::ranges::copy(results, &copy[e.first_result]);
  }
  return builder.finish(copy.outputs());
}

}  // namespace

GraphRef turn_loop_matrices(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return !to_turn(e).empty(); })) made = turn(graph);
  return with_regions(*made, turn_loop_matrices);
}

}  // namespace apsis::detail
