// NumPy's .npy format, version 1.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include "io/npy.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "apsis/io/save.hpp"
#include "apsis/ops/shape.hpp"
#include "io/messages.hpp"

namespace apsis {
namespace detail {
namespace {

constexpr std::string_view magic("\x93NUMPY\x01\x00", 8);

struct Code {
  Dtype dtype;
  std::string_view text;
};
constexpr Code codes[] = {{Dtype::Bool, "|b1"}, {Dtype::I8, "|i1"},  {Dtype::I16, "<i2"},
                          {Dtype::I32, "<i4"},  {Dtype::I64, "<i8"}, {Dtype::U8, "|u1"},
                          {Dtype::U16, "<u2"},  {Dtype::U32, "<u4"}, {Dtype::U64, "<u8"},
                          {Dtype::BF16, "<V2"}, {Dtype::F16, "<f2"}, {Dtype::F32, "<f4"},
                          {Dtype::F64, "<f8"},  {Dtype::C64, "<c8"}, {Dtype::C128, "<c16"}};

[[noreturn]] void damaged(const std::string& name, const char* what) {
  fail(messages::file_damaged, {name, what});
}

/// The text after `'key':`, from the first character that is no space.
std::string_view value_of(std::string_view header, std::string_view key, const std::string& name) {
  std::string quoted = "'" + std::string(key) + "':";
  std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) damaged(name, "the header lacks a field");
  std::string_view rest = header.substr(at + quoted.size());
  return rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
}

Shape shape_of(std::string_view text, const std::string& name) {
  Shape shape;
  std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos)
    damaged(name, "the header's shape is not readable");
  const char *p = text.data() + 1, *last = text.data() + end;
  while (p < last) {
    if (*p == ' ' || *p == ',') {
      ++p;
      continue;
    }
    std::int64_t size = 0;
    auto [next, status] = std::from_chars(p, last, size);
    if (status != std::errc{} || size < 0) damaged(name, "the header's shape is not readable");
    shape.push_back(size);
    p = next;
  }
  return shape;
}

}  // namespace

std::string npy_bytes(const Array& array) {
  Array a = concrete_value(array);
  if (a.is_empty()) fail(messages::save_traced, {to_string(array.aval())});
  std::string header = "{'descr': '" + std::string(codes[static_cast<int>(a.dtype())].text) +
                       "', 'fortran_order': False, 'shape': (";
  for (std::int64_t d : a.shape()) header += std::to_string(d) + (a.ndim() == 1 ? "," : ", ");
  if (a.ndim() > 1) header.resize(header.size() - 2);
  header += "), }";
  // Elements start at a multiple of 64.
  std::size_t total = (magic.size() + 2 + header.size() + 1 + 63) / 64 * 64;
  header.append(total - magic.size() - 2 - header.size() - 1, ' ');
  header += '\n';
  std::string bytes(magic);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(static_cast<const char*>(data_of(a)), a.aval().bytes());
  return bytes;
}

Array npy_array(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != magic.substr(0, 6))
    damaged(name, "it does not begin as a .npy file");
  // Version 1 has a two-byte length, later ones four.
  bool wide = bytes[6] > 1;
  std::size_t start = wide ? 12 : 10;
  if (bytes.size() < start) damaged(name, "it ends inside the header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < start - 8; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  if (bytes.size() - start < length) damaged(name, "it ends inside the header");
  std::string_view header = bytes.substr(start, length), data = bytes.substr(start + length);

  std::string_view descr = value_of(header, "descr", name);
  std::size_t quote = descr.size() > 1 ? descr.find('\'', 1) : std::string_view::npos;
  if (quote == std::string_view::npos) damaged(name, "the header's dtype is not readable");
  descr = descr.substr(1, quote - 1);
  const Code* found = nullptr;
  for (const Code& c : codes)
    if (c.text == descr || (descr.size() > 1 && descr[0] == '|' && c.text.substr(1) == descr.substr(1) &&
                            item_size(c.dtype) < 3))
      found = &c;
  if (!found) fail(messages::unknown_element, {name, std::string(descr)});
  bool fortran = value_of(header, "fortran_order", name).starts_with("True");
  Shape shape = shape_of(value_of(header, "shape", name), name);

  Shape stored = shape;
  if (fortran)
    for (std::size_t i = 0; i < shape.size(); ++i) stored[i] = shape[shape.size() - 1 - i];
  // Sizes are checked by division: a damaged header may ask for more than any memory holds.
  std::size_t room = data.size() / item_size(found->dtype);
  for (std::int64_t d : shape) {
    if (d == 0) continue;
    if (room / static_cast<std::size_t>(d) == 0 && shape.product() != 0)
      damaged(name, "it ends before the last element");
    room /= static_cast<std::size_t>(std::max<std::int64_t>(d, 1));
  }
  Aval aval(found->dtype, stored);
  if (data.size() < aval.bytes()) damaged(name, "it ends before the last element");
  Array a = allocate(aval);
  if (aval.bytes()) std::memcpy(mutable_data<char>(a), data.data(), aval.bytes());
  return fortran ? transpose(a) : a;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(messages::cannot_read, {path, std::strerror(errno)});
  std::ostringstream text;
  text << in.rdbuf();
  if (!in && !in.eof()) fail(messages::cannot_read, {path, std::strerror(errno)});
  return std::move(text).str();
}

void write_file(const std::string& path, std::string_view bytes) {
  std::string beside = path + ".partial";
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || std::rename(beside.c_str(), path.c_str()) != 0) {
    std::string why = std::strerror(errno);
    std::remove(beside.c_str());
    fail(messages::cannot_write, {path, why});
  }
}

}  // namespace detail

void save_npy(const std::string& path, const Array& array, Loc loc) {
  const LocScope place(loc);
  detail::write_file(path, detail::npy_bytes(array));
}
Array load_npy(const std::string& path, Loc loc) {
  const LocScope place(loc);
  return detail::npy_array(detail::read_file(path), path);
}

}  // namespace apsis
