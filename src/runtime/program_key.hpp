#pragma once

#include <string>

#include "codegen/compile/compile.hpp"

namespace apsis::detail {

/// All that decides the machine code of a program, as text: the build of the library, LLVM, the processor,
/// the calling convention, the options, and the canonical text of the graph. Equal keys mean equal code, in
/// any process. Empty for a graph that must not be kept: one with ops from outside the library that have no
/// version, or with parameters that do not read back from text (what they stand for lives in this process
/// alone), and all graphs where the build is not known.
std::string program_key(const Graph& graph, const CodegenOptions& options);

}  // namespace apsis::detail
