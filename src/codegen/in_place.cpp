#include "codegen/in_place.hpp"

#include <algorithm>

#include "codegen/schedule.hpp"

namespace apsis::detail {
namespace {

/// Loops over such an array never read an element after they have written it: the last vector of others
/// overlaps the one before (CountedLoop).
bool divides_into_vectors(const Shape& shape) {
  constexpr std::int64_t widest = 64;
  return std::ranges::all_of(shape,
                             [](std::int64_t n) { return n > 0 && (n % widest == 0 || (n & (n - 1)) == 0); });
}

/// Whether the equation has read its operands when it has been written, so that nothing refers to them later.
bool reads_at_once(const Graph& graph, const Eqn& e) {
  return fusible(graph, e) || e.op->kind == OpKind::Reduce || e.op->kind == OpKind::Contract;
}

/// The equations that `v` is computed by.
std::vector<char> ancestors(const Graph& graph, ValueId v) {
  std::vector<char> value(graph.value_count(), 0), eqn(graph.eqns().size(), 0);
  value[v] = 1;
  for (std::size_t i = graph.eqns().size(); i-- > 0;) {
    const Eqn& e = graph.eqns()[i];
    for (std::uint32_t r = 0; r < e.result_count; ++r) eqn[i] |= value[e.first_result + r];
    if (eqn[i])
      for (ValueId o : graph.operands(e)) value[o] = 1;
  }
  return eqn;
}

}  // namespace

// An output is written element by element in the last of its loops. An input of its shape may lie under it if
// everything that reads the input comes before that loop, or is part of it and reads the element that is
// about to be written: so if all its readers are among the equations that the output is computed by, and none
// keeps a view of it.
std::vector<std::int32_t> overwritable_inputs(const Graph& graph) {
  std::vector<std::int32_t> inputs(graph.outputs().size(), -1);
  std::vector<char> refused(graph.input_count(), 0);
  std::vector<std::vector<std::uint32_t>> readers(graph.input_count());
  for (std::uint32_t i = 0; i < graph.eqns().size(); ++i)
    for (ValueId v : graph.operands(graph.eqns()[i]))
      if (v < graph.input_count()) {
        readers[v].push_back(i);
        refused[v] |= static_cast<char>(!reads_at_once(graph, graph.eqns()[i]));
      }
  for (ValueId v : graph.outputs())
    if (v < graph.input_count()) refused[v] = 1;
  for (std::size_t o = 0; o < inputs.size(); ++o) {
    ValueId v = graph.outputs()[o];
    const Eqn* e = graph.definition(v);
    if (!e || !fusible(graph, *e) || !divides_into_vectors(graph.aval(v).shape())) continue;
    std::vector<char> before;
    for (ValueId i = 0; i < graph.input_count() && inputs[o] < 0; ++i) {
      if (refused[i] || graph.aval(i).dtype() != graph.aval(v).dtype() ||
          graph.aval(i).shape() != graph.aval(v).shape())
        continue;
      if (before.empty()) before = ancestors(graph, v);
      if (!std::ranges::all_of(readers[i], [&](std::uint32_t r) { return before[r] != 0; })) continue;
      inputs[o] = static_cast<std::int32_t>(i);
      refused[i] = 1;
    }
  }
  return inputs;
}

}  // namespace apsis::detail
