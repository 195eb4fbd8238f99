#pragma once

#include <string>

#include "apsis/core/array.hpp"

namespace apsis {

/// An array from an IDX file, the format of MNIST and its kin: of its shape, u8, i8, i16, i32, f32 or f64.
/// Throws if the file cannot be read, is compressed, or is no whole IDX file.
Array read_idx(const std::string& path, Loc loc = Loc::here());

}  // namespace apsis
