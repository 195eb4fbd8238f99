#pragma once

#include "apsis/transform/checks.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

/// The graph with checks of its own equations, in regions too, as effects.
GraphRef with_checks(const Graph& graph, const Checks& checks);

/// While it lives, what this thread stages gets checks afterwards, if `wanted` or if what is staged around
/// does. A lane of vmap must then compute nothing that it did not ask for, as it would fail for what nobody
/// sees.
class CheckedStaging {
 public:
  explicit CheckedStaging(bool wanted);
  ~CheckedStaging();
  CheckedStaging(const CheckedStaging&) = delete;
  CheckedStaging& operator=(const CheckedStaging&) = delete;

 private:
  bool previous_;
};
bool staging_is_checked();

}  // namespace apsis::detail
