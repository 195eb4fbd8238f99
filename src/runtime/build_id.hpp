#pragma once

#include <string>

namespace apsis::detail {

// The linker's build ids, in hexadecimal: one for each distinct content. Empty where there is none.

/// Of this library, as it is in memory: its file may have been replaced since.
std::string library_build_id();
/// Of a shared library's file.
std::string file_build_id(const std::string& path);

}  // namespace apsis::detail
