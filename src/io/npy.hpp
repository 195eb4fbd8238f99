#pragma once

#include <string>
#include <string_view>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// The bytes of a .npy file (format version 1.0), and back; `name` is for messages.
std::string npy_bytes(const Array& array);
Array npy_array(std::string_view bytes, const std::string& name);

std::string read_file(const std::string& path);
/// Writes beside the target and renames, so that no half-written file is ever seen.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace apsis::detail
