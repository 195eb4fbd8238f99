#pragma once

#include "apsis/transform/compile_options.hpp"
#include "codegen/compile/compile.hpp"

namespace apsis::detail {

/// The user's choice in the words of code generation. Throws for lanes or a level out of range.
CodegenOptions codegen_options(const CompileOptions& options);

}  // namespace apsis::detail
