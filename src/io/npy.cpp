#include "io/npy.hpp"

#include <algorithm>
#include <cstring>

#include "apsis/core/op.hpp"
#include "apsis/io/save.hpp"
#include "apsis/ops/shape.hpp"
#include "io/file.hpp"
#include "io/messages.hpp"
#include "io/text.hpp"

namespace apsis {
namespace detail {

std::string npy_bytes(const Array& array) {
  if (array.is_empty()) fail(messages::save_empty, {});
  const Array a = concrete_value(array);
  if (a.is_empty()) fail(messages::save_traced, {to_string(array.aval())});
  std::string header = "{'descr': '" + npy_element(a.dtype()) + "', 'fortran_order': False, 'shape': (";
  for (std::int64_t d : a.shape()) header += std::to_string(d) + (a.ndim() == 1 ? "," : ", ");
  if (a.ndim() > 1) header.resize(header.size() - 2);
  header += "), }";
  // Elements start at a multiple of 64.
  constexpr std::string_view begin("\x93NUMPY\x01\x00", 8);
  const std::size_t total = (begin.size() + 2 + header.size() + 1 + 63) / 64 * 64;
  header.append(total - begin.size() - 2 - header.size() - 1, ' ');
  header += '\n';
  std::string bytes(begin);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(static_cast<const char*>(data_of(a)), a.aval().bytes());
  return bytes;
}

Array npy_array(std::string_view bytes, const NpyHeader& header) {
  Shape stored = header.shape;
  if (header.fortran) std::reverse(stored.begin(), stored.end());
  Array a = allocate(Aval(header.dtype, stored));
  char* to = mutable_data<char>(a);
  const std::size_t count = a.aval().bytes();
  if (count) std::memcpy(to, bytes.data() + header.start, count);
  if (header.big_endian) {
    const std::size_t part = is_complex(header.dtype) ? item_size(header.dtype) / 2 : item_size(header.dtype);
    for (std::size_t i = 0; i < count; i += part) std::reverse(to + i, to + i + part);
  }
  // A bool is one of two bytes for all who read it, others are true as in NumPy.
  if (header.dtype == Dtype::Bool)
    for (std::size_t i = 0; i < count; ++i) to[i] = to[i] != 0;
  return header.fortran ? transpose(a) : a;
}

}  // namespace detail

void save_npy(const std::string& path, const Array& array, Loc loc) {
  const LocScope place(loc);
  detail::write_file(path, detail::npy_bytes(array));
}

Array load_npy(const std::string& path, Loc loc) {
  const LocScope place(loc);
  const std::string bytes = detail::read_file(path);
  return detail::npy_array(bytes, detail::npy_header(bytes, detail::shown(path, 300)));
}

}  // namespace apsis
