#pragma once

#include <string>
#include <string_view>

#include "apsis/core/array.hpp"

namespace apsis::detail {

/// What the header of a .npy file says.
struct NpyHeader {
  Dtype dtype = Dtype::F64;
  bool big_endian = false, fortran = false;
  Shape shape;
  std::size_t start = 0;  // of the elements, in bytes
};

/// The bytes of a .npy file (format version 1.0).
std::string npy_bytes(const Array& array);
/// How the format writes a dtype: `<f8`.
std::string npy_element(Dtype dtype);
/// The header of a file, and nothing taken on trust: the elements it speaks of are there, no more and no
/// less. `name` is for messages.
NpyHeader npy_header(std::string_view bytes, const std::string& name);
/// The elements behind a header that `npy_header` read from the same bytes.
Array npy_array(std::string_view bytes, const NpyHeader& header);

}  // namespace apsis::detail
