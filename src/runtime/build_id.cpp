#include "runtime/build_id.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace apsis::detail {
namespace {

/// Finds the build id in a segment of notes: each is a header, a name and a description, both padded to 4
/// bytes.
std::string id_in_notes(std::string_view notes) {
  auto padded = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::size_t name = padded(note.n_namesz), description = padded(note.n_descsz);
    if (name > notes.size() || description > notes.size() - name) break;
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(0, note.n_namesz) == std::string_view("GNU\0", 4)) {
      std::string id;
      for (unsigned char c : notes.substr(name, note.n_descsz)) {
        id += "0123456789abcdef"[c >> 4];
        id += "0123456789abcdef"[c & 15];
      }
      return id;
    }
    notes.remove_prefix(name + description);
  }
  return {};
}

int read_own_notes(dl_phdr_info* object, std::size_t, void* result) {
  const auto here = reinterpret_cast<std::uintptr_t>(&library_build_id);
  const std::span<const ElfW(Phdr)> segments(object->dlpi_phdr, object->dlpi_phnum);
  bool ours = false;
  for (const ElfW(Phdr) & s : segments)
    ours |= s.p_type == PT_LOAD && here - (object->dlpi_addr + s.p_vaddr) < s.p_memsz;
  if (!ours) return 0;
  auto& id = *static_cast<std::string*>(result);
  for (const ElfW(Phdr) & s : segments)
    if (s.p_type == PT_NOTE && id.empty())
      id = id_in_notes({reinterpret_cast<const char*>(object->dlpi_addr + s.p_vaddr), s.p_memsz});
  return 1;
}

}  // namespace

std::string library_build_id() {
  std::string id;
  dl_iterate_phdr(read_own_notes, &id);
  return id;
}

std::string file_build_id(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  auto read_at = [file](void* to, std::size_t bytes, std::size_t offset) {
    return pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  };
  std::string id;
  ElfW(Ehdr) header;
  if (read_at(&header, sizeof header, 0) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
      header.e_phentsize == sizeof(ElfW(Phdr))) {
    std::vector<ElfW(Phdr)> segments(header.e_phnum);
    if (!read_at(segments.data(), segments.size() * sizeof(ElfW(Phdr)), header.e_phoff)) segments.clear();
    constexpr std::size_t longest = 1 << 16;  // of a segment of notes that is worth reading
    for (const ElfW(Phdr) & s : segments) {
      if (s.p_type != PT_NOTE || s.p_filesz > longest || !id.empty()) continue;
      std::string notes(s.p_filesz, '\0');
      if (read_at(notes.data(), notes.size(), s.p_offset)) id = id_in_notes(notes);
    }
  }
  close(file);
  return id;
}

}  // namespace apsis::detail
