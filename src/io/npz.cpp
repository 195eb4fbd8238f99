// NumPy's .npz: a zip archive of stored (not compressed) .npy files. PKWARE's APPNOTE 6.3,
// sections 4.3.7, 4.3.12, 4.3.16.

#include <algorithm>
#include <array>
#include <map>

#include "apsis/io/save.hpp"
#include "io/messages.hpp"
#include "io/npy.hpp"

namespace apsis::detail {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50,
                        end_signature = 0x06054b50;
constexpr std::size_t local_size = 30, central_size = 46, end_size = 22;

std::uint32_t crc32(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t c = 0xffffffffu;
  for (char b : bytes) c = table[(c ^ static_cast<unsigned char>(b)) & 0xff] ^ (c >> 8);
  return c ^ 0xffffffffu;
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}
std::uint64_t get(std::string_view in, std::size_t at, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[at + static_cast<std::size_t>(i)]))
             << (8 * i);
  return value;
}

/// The fields that local and central headers share, from "version needed" to the length of the extra field.
void put_common(std::string& out, std::uint32_t crc, std::size_t size, std::size_t name_length) {
  put(out, 20, 2);    // version 2.0
  put(out, 0, 2);     // flags
  put(out, 0, 2);     // stored
  put(out, 0, 2);     // time
  put(out, 0x21, 2);  // date: 1980-01-01, the same file for the same content
  put(out, crc, 4);
  put(out, size, 4);
  put(out, size, 4);
  put(out, name_length, 2);
  put(out, 0, 2);
}

std::string entry_name(const std::string& path, std::size_t i) {
  return (path.empty() ? "leaf" + std::to_string(i) : path.starts_with(".") ? path.substr(1) : path) + ".npy";
}

/// Name → stored bytes.
std::map<std::string, std::string_view> read_entries(std::string_view file, const std::string& path) {
  auto damaged = [&](const char* what) { fail(messages::file_damaged, {path, what}); };
  if (file.size() < end_size) damaged("it is too short for a .npz file");
  // The end record is the last but for a comment.
  std::size_t end = file.size() - end_size;
  while (get(file, end, 4) != end_signature) {
    if (end == 0 || file.size() - end > end_size + 0xffff)
      damaged("it has no list of contents; it is not a .npz file, or was cut off");
    --end;
  }
  std::size_t count = get(file, end + 10, 2), at = get(file, end + 16, 4);
  std::map<std::string, std::string_view> entries;
  for (std::size_t i = 0; i < count; ++i) {
    if (at + central_size > file.size() || get(file, at, 4) != central_signature)
      damaged("its list of contents is not readable");
    std::size_t method = get(file, at + 10, 2), size = get(file, at + 20, 4),
                name_length = get(file, at + 28, 2);
    std::size_t skip = get(file, at + 30, 2) + get(file, at + 32, 2), local = get(file, at + 42, 4);
    if (at + central_size + name_length + skip > file.size()) damaged("its list of contents is not readable");
    std::string name(file.substr(at + central_size, name_length));
    if (method != 0) fail(messages::file_compressed, {path, name});
    if (local + local_size > file.size() || get(file, local, 4) != local_signature)
      damaged("an array's header is missing");
    std::size_t data = local + local_size + get(file, local + 26, 2) + get(file, local + 28, 2);
    if (data > file.size() || file.size() - data < size) damaged("an array is cut off");
    std::string_view bytes = file.substr(data, size);
    if (crc32(bytes) != get(file, at + 16, 4)) damaged("an array's checksum does not agree");
    entries[name] = bytes;
    at += central_size + name_length + skip;
  }
  return entries;
}

}  // namespace

void save_leaves(const std::string& path, const std::vector<std::string>& names,
                 std::span<const Array> leaves) {
  std::string file, central;
  std::size_t count = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].is_empty()) continue;
    std::string name = entry_name(names[i], i), bytes = npy_bytes(leaves[i]);
    std::size_t local = file.size();
    if (local + bytes.size() > 0xffff0000u || count == 0xffff) fail(messages::file_too_large, {path});
    std::uint32_t crc = crc32(bytes);
    put(file, local_signature, 4);
    put_common(file, crc, bytes.size(), name.size());
    file += name;
    file += bytes;
    put(central, central_signature, 4);
    put(central, 20, 2);
    put_common(central, crc, bytes.size(), name.size());
    put(central, 0, 2);  // comment
    put(central, 0, 2);  // disk
    put(central, 0, 2);  // internal attributes
    put(central, 0, 4);  // external attributes
    put(central, local, 4);
    central += name;
    ++count;
  }
  std::size_t start = file.size();
  file += central;
  put(file, end_signature, 4);
  put(file, 0, 4);
  put(file, count, 2);
  put(file, count, 2);
  put(file, central.size(), 4);
  put(file, start, 4);
  put(file, 0, 2);
  write_file(path, file);
}

std::vector<Array> load_leaves(const std::string& path, const std::vector<std::string>& names,
                               std::span<const Array> like) {
  std::string file = read_file(path);
  auto entries = read_entries(file, path);
  std::vector<Array> leaves(like.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < like.size(); ++i) {
    if (like[i].is_empty()) continue;
    std::string name = entry_name(names[i], i);
    auto found = entries.find(name);
    if (found == entries.end()) fail(messages::record_missing, {path, name, to_string(like[i].aval())});
    leaves[i] = npy_array(found->second, path + ":" + name);
    if (leaves[i].dtype() != like[i].dtype() || leaves[i].shape() != like[i].shape())
      fail(messages::record_mismatch, {path, name, to_string(leaves[i].aval()), to_string(like[i].aval())});
    ++used;
  }
  if (used != entries.size())
    for (const auto& [name, bytes] : entries) {
      bool known = false;
      for (std::size_t i = 0; i < like.size(); ++i)
        known |= !like[i].is_empty() && entry_name(names[i], i) == name;
      if (!known) fail(messages::record_unknown, {path, name});
    }
  return leaves;
}

}  // namespace apsis::detail
