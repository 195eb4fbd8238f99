#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/compile/compile.hpp"

namespace apsis::detail {

/// Of long texts and files: their checksum, and what they are found by.
std::uint64_t hash_file(std::span<const std::byte> bytes);

/// The bytes of a file that holds a compiled program under its key.
std::vector<std::byte> encode_program(const std::string& key, const ProgramImage& image);

/// Reads them back. Nothing if they are truncated, damaged, of another format, or of another key than this.
std::optional<ProgramImage> decode_program(std::span<const std::byte> file, const std::string& key);

}  // namespace apsis::detail
