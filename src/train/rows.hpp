// Rows of the arrays of a tree.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::train::detail {

/// How many rows (axis 0) all leaves have that are not empty. Throws if there is none, one has no axis, or
/// their numbers differ.
std::int64_t rows_of(const char* where, std::span<const Array> leaves, const std::vector<std::string>& paths);

}  // namespace apsis::train::detail
