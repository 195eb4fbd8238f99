#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// The program with its errors raised apart from it: each group of `error_if` between two other effects
/// becomes one test that none of them has anything to raise. Only where the test fails does `raise_when`
/// compute again, with the evaluator and in the order of the program, what each of them looks at. Inputs and
/// outputs stay as they are.
GraphRef group_error_checks(const Graph& graph);

}  // namespace apsis::detail
