#pragma once

#include "codegen/compile/compile.hpp"

namespace apsis::detail {

/// Runs a program on element storage: inputs of exactly the program's dtypes and shapes, outputs allocated.
/// No allocation but scratch, which each thread keeps. Throws what the program's ops throw; the errors name
/// the places of `graph`, which is the one compiled or an equal one.
void execute(const Program& program, const Graph& graph, const void* const* in, void* const* out);

/// The same on arrays.
std::vector<Array> execute(const Program& program, const Graph& graph, std::span<const Array> inputs);

}  // namespace apsis::detail
