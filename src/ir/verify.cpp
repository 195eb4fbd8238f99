#include <algorithm>

#include "ir/graph.hpp"

namespace apsis::detail {

void verify(const Graph& graph) {
  std::vector<Aval> in, out;
  ValueId next = graph.input_count();
  std::vector<char> used(graph.value_count(), 0);
  APSIS_ASSERT(next <= graph.value_count());
  for (const Eqn& e : graph.eqns()) {
    // Values are numbered in program order, so an operand's number below the first result says it is defined
    // before.
    APSIS_ASSERT(e.op && e.first_result == next);
    next += e.result_count;
    APSIS_ASSERT(next <= graph.value_count());
    in.clear();
    out.clear();
    for (ValueId v : graph.operands(e)) {
      APSIS_ASSERT(v < e.first_result);
      in.push_back(graph.aval(v));
      used[v] = 1;
    }
    e.op->shape(e.params, in, out);
    APSIS_ASSERT(out.size() == e.result_count);
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      APSIS_ASSERT(graph.aval(e.first_result + r) == out[r]);
      APSIS_ASSERT(graph.definition(e.first_result + r) == &e);
    }
    for (const Graph* region : regions_of(e.params)) verify(*region);
  }
  APSIS_ASSERT(next == graph.value_count());
  for (ValueId v : graph.outputs()) {
    APSIS_ASSERT(v < graph.value_count());
    used[v] = 1;
  }
  // What nobody uses was left out by `finish`, unless it has an effect.
  for (const Eqn& e : graph.eqns())
    APSIS_ASSERT(has_effect(*e.op, e.params) ||
                 std::any_of(&used[e.first_result], &used[e.first_result] + e.result_count,
                             [](char u) { return u != 0; }));
}

}  // namespace apsis::detail
