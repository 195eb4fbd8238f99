#pragma once

// What every test of a rewrite checks beside the rewrite itself.

#include <algorithm>
#include <string_view>
#include <vector>

#include "codegen/compiled_equal.hpp"

namespace apsis::detail {

/// How many equations of a program, not of its regions, are of the op with this name.
inline int count_ops(const Graph& graph, std::string_view name) {
  return static_cast<int>(
      std::ranges::count_if(graph.eqns(), [&](const Eqn& e) { return e.op->name == name; }));
}

/// The program after the pass, whose results and those of its code are the given one's. `alter` may change
/// each input that is made up.
template <class Pass>
GraphRef checked_pass(const Pass& pass, std::string_view text, void (*alter)(Array&) = nullptr) {
  expect_compiled_equal(text);
  const GraphRef given = parse_graph(text), made = pass(*given);
  verify(*made);
  std::vector<Array> inputs;
  for (ValueId v = 0; v < given->input_count(); ++v) {
    inputs.push_back(filled(given->aval(v), 7 + v));
    if (alter) alter(inputs.back());
  }
  InterpretScope reference;
  const std::vector<Array> want = interpret(*given, inputs), got = interpret(*made, inputs);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(same_bits(got[i], want[i])) << text << "\nbecame\n" << to_string(*made);
  return made;
}

}  // namespace apsis::detail
