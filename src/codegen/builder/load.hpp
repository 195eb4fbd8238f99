#pragma once

#include <string>

#include "codegen/builder/builder.hpp"

namespace apsis::detail {

using MakeBuilder = Builder* (*)(const BuilderOptions& options);

/// Where the module of code generation is: next to the library.
std::string code_generator_path();

/// Loads the module of code generation from a file and finds its one function. Throws Error when that fails.
MakeBuilder load_code_generator(const std::string& path);

}  // namespace apsis::detail
