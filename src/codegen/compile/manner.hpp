#pragma once

// In what manner a program is compiled: how much time is spent on its code, what is unrolled, what is called.

#include "codegen/builder/builder.hpp"
#include "codegen/compile/compile.hpp"
#include "codegen/emit/lowering.hpp"

namespace apsis::detail {

struct Manner {
  Level level;
  BuilderOptions builder;
  LoweringOptions lowering;
};
Manner manner_of(const Graph& graph, const CodegenOptions& options);

}  // namespace apsis::detail
