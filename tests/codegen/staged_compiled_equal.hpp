#pragma once

// The comparison of compiled_equal.hpp for functions of C++.

#include "codegen/compiled_equal.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {

/// f(args…) as one program, compiled in the settings of every compiled suite.
template <class F, class... A>
void expect_graph_compiled_equal(const F& f, const A&... args) {
  const StagedCall call = staged_call(f, args...);
  detail::expect_compiled_equal(*call.graph, call.inputs);
}

}  // namespace apsis::testing
