#include "io/zip.hpp"

#include <algorithm>
#include <array>

#include "io/messages.hpp"
#include "io/text.hpp"

namespace apsis::detail {
namespace {

constexpr std::uint32_t local_signature = 0x04034b50, central_signature = 0x02014b50,
                        end_signature = 0x06054b50;
constexpr std::size_t local_size = 30, central_size = 46, end_size = 22;
constexpr std::size_t most_files = 0xffff - 1, largest = 0xffff0000u, longest_name = 0xffff;
// Larger values mean that they stand in records of ZIP64.
constexpr std::size_t elsewhere = 0xffffffffu;

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
void put_common(std::string& out, std::uint32_t crc, std::size_t size, const std::string& name) {
  const bool plain = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  put(out, 20, 2);                   // version 2.0
  put(out, plain ? 0 : 1 << 11, 2);  // flags: the name is UTF-8
  put(out, 0, 2);                    // stored
  put(out, 0, 2);                    // time
  put(out, 0x21, 2);                 // date: 1980-01-01, the same file for the same content
  put(out, crc, 4);
  put(out, size, 4);
  put(out, size, 4);
  put(out, name.size(), 2);
  put(out, 0, 2);
}

/// Where the end record is: the last that a comment reaching to the file's end follows. `npos` if there is
/// none.
std::size_t end_record(std::string_view file) {
  if (file.size() < end_size) return file.npos;
  for (std::size_t at = file.size() - end_size;; --at) {
    if (get(file, at, 4) == end_signature && at + end_size + get(file, at + 20, 2) == file.size()) return at;
    if (at == 0 || file.size() - at > end_size + 0xffff) return file.npos;
  }
}

}  // namespace

bool ZipWriter::add(const std::string& name, std::string_view bytes) {
  const std::size_t local = file_.size();
  if (count_ == most_files || name.size() > longest_name || bytes.size() > largest ||
      local + bytes.size() + central_.size() + 2 * name.size() + local_size + central_size > largest)
    return false;
  const std::uint32_t crc = crc32(bytes);
  put(file_, local_signature, 4);
  put_common(file_, crc, bytes.size(), name);
  file_ += name;
  file_ += bytes;
  put(central_, central_signature, 4);
  put(central_, 20, 2);
  put_common(central_, crc, bytes.size(), name);
  put(central_, 0, 2);  // comment
  put(central_, 0, 2);  // disk
  put(central_, 0, 2);  // internal attributes
  put(central_, 0, 4);  // external attributes
  put(central_, local, 4);
  central_ += name;
  ++count_;
  return true;
}

std::string ZipWriter::finish() {
  const std::size_t start = file_.size();
  file_ += central_;
  put(file_, end_signature, 4);
  put(file_, 0, 4);
  put(file_, count_, 2);
  put(file_, count_, 2);
  put(file_, central_.size(), 4);
  put(file_, start, 4);
  put(file_, 0, 2);
  return std::move(file_);
}

std::map<std::string, std::string_view> zip_entries(std::string_view file, const std::string& path) {
  auto damaged = [&](const std::string& what) { fail(messages::file_damaged, {path, what}); };
  const std::size_t end = end_record(file);
  if (end == file.npos) damaged("it has no list of contents; it is not a .npz file, or was cut off");
  const std::size_t count = get(file, end + 10, 2);
  std::size_t at = get(file, end + 16, 4);
  if (count == 0xffff || at == elsewhere) fail(messages::file_zip64, {path});
  std::map<std::string, std::string_view> entries;
  std::size_t all = 0;  // bytes of the entries: they share none
  for (std::size_t i = 0; i < count; ++i) {
    const std::string which = "entry " + std::to_string(i + 1) + " of its list of contents";
    if (at > end || end - at < central_size || get(file, at, 4) != central_signature)
      damaged(which + " is not readable (byte " + std::to_string(at) + ")");
    const std::size_t flags = get(file, at + 8, 2), method = get(file, at + 10, 2),
                      size = get(file, at + 20, 4), whole = get(file, at + 24, 4),
                      name_length = get(file, at + 28, 2),
                      skip = get(file, at + 30, 2) + get(file, at + 32, 2), local = get(file, at + 42, 4);
    if (end - at - central_size < name_length + skip)
      damaged(which + " is cut off (byte " + std::to_string(at) + ")");
    const std::string name(file.substr(at + central_size, name_length));
    const std::string called = shown(name, 200);
    if (flags & 1) fail(messages::file_encrypted, {path, called});
    if (size == elsewhere || whole == elsewhere || local == elsewhere) fail(messages::file_zip64, {path});
    if (method != 0) fail(messages::file_compressed, {path, called});
    if (size != whole) damaged(called + " has two sizes");
    if (local > file.size() || file.size() - local < local_size || get(file, local, 4) != local_signature)
      damaged("the header of " + called + " is missing (byte " + std::to_string(local) + ")");
    const std::size_t local_name = get(file, local + 26, 2);
    const std::size_t data = local + local_size + local_name + get(file, local + 28, 2);
    if (data > file.size() || file.size() - data < size) damaged(called + " is cut off");
    if (file.substr(local + local_size, local_name) != name)
      damaged("its list of contents has " + called + " where another name stands (byte " +
              std::to_string(local) + ")");
    const std::string_view bytes = file.substr(data, size);
    all += local_size + local_name + size;
    if (all > file.size()) damaged("its arrays share bytes");
    if (crc32(bytes) != get(file, at + 16, 4)) damaged("the checksum of " + called + " does not agree");
    if (!entries.emplace(name, bytes).second) damaged("it has two arrays " + called);
    at += central_size + name_length + skip;
  }
  return entries;
}

}  // namespace apsis::detail
