#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// The equation that repeats one number everywhere in a value; null: there is none. Of a graph, or of one
/// that is being built.
template <class Program>
const Eqn* repeated_number(const Program& program, ValueId v) {
  const Eqn* e = program.definition(v);
  const bool number =
      e && e->op->view_kind == ViewKind::Repeated && program.aval(program.operands(*e)[0]).rank() == 0;
  return number ? e : nullptr;
}

}  // namespace apsis::detail
