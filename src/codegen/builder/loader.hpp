#pragma once

// Loads a relocatable x86-64 ELF object into memory. It needs no LLVM, so objects kept from an earlier
// process load without it.

#include <cstddef>
#include <memory>
#include <span>

#include "codegen/builder/builder.hpp"

namespace apsis::detail {

/// Maps the object's sections, binds what it refers to by `find_symbol`, and makes its code executable
/// (memory is never writable and executable at once). Throws InternalError for an object that is malformed or
/// refers to unknown symbols.
std::unique_ptr<Code> load_object(std::span<const std::byte> object);

}  // namespace apsis::detail
