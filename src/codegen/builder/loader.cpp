#include "codegen/builder/loader.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apsis/base/error.hpp"

namespace apsis::detail {
namespace {

[[noreturn]] void malformed(const std::string& what) {
  throw InternalError("a compiled object cannot be loaded: " + what);
}

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

class LoadedCode final : public Code {
 public:
  LoadedCode(void* base, std::size_t mapped, std::size_t size) : base_(base), mapped_(mapped), size_(size) {}
  ~LoadedCode() override { munmap(base_, mapped_); }
  void* find(const char* name) const override {
    for (const auto& [known, address] : exports_)
      if (known == name) return address;
    return nullptr;
  }
  std::size_t size() const override { return size_; }

  std::vector<std::pair<std::string, void*>> exports_;

 private:
  void* base_;
  std::size_t mapped_, size_;
};

// Functions outside may be further away than a 32-bit displacement: calls to them go through a jump with the
// whole address behind it, which serves as the entry of the global offset table too.
struct Stub {
  std::uint8_t jump[8] = {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc};  // jmp *[rip + 2]; the address follows at 8
  std::uint64_t address = 0;
};

constexpr std::size_t no_stub = ~std::size_t{0};

enum Segment { Text, Constants, Data, segment_count };

class Loader {
 public:
  explicit Loader(std::span<const std::byte> object) : object_(object) {}

  std::unique_ptr<Code> load() {
    read_headers();
    lay_out();
    void* memory = mmap(nullptr, total_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) malformed("no memory for " + std::to_string(total_) + " bytes");
    base_ = static_cast<std::byte*>(memory);
    auto code = std::make_unique<LoadedCode>(memory, total_, used_[Text] + used_[Constants] + used_[Data]);
    copy_sections();
    for (const Elf64_Shdr& section : sections_)
      if (section.sh_type == SHT_RELA && is_loaded(section.sh_info)) relocate(section);
    protect();
    for (std::size_t i = 1; i < symbols_.size(); ++i) {
      const Elf64_Sym& s = symbols_[i];
      if (ELF64_ST_BIND(s.st_info) != STB_LOCAL && s.st_shndx != SHN_UNDEF && is_loaded(s.st_shndx))
        code->exports_.emplace_back(name_of(s), base_ + place_[s.st_shndx] + s.st_value);
    }
    write_perf_map();
    return code;
  }

 private:
  template <class T>
  std::vector<T> table(std::size_t offset, std::size_t count) const {
    if (offset > object_.size() || count > (object_.size() - offset) / sizeof(T))
      malformed("a table lies outside it");
    std::vector<T> entries(count);
    if (count) std::memcpy(entries.data(), object_.data() + offset, count * sizeof(T));
    return entries;
  }

  void read_headers() {
    header_ = table<Elf64_Ehdr>(0, 1)[0];
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_type != ET_REL ||
        header_.e_machine != EM_X86_64)
      malformed("it is no relocatable x86-64 object");
    sections_ = table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      symbols_ = table<Elf64_Sym>(section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
      if (section.sh_link >= sections_.size()) malformed("a symbol table without names");
      const Elf64_Shdr& names = sections_[section.sh_link];
      names_ = table<char>(names.sh_offset, names.sh_size);
      names_.push_back('\0');
    }
  }

  bool is_loaded(std::size_t section) const {
    return section < sections_.size() && (sections_[section].sh_flags & SHF_ALLOC) &&
           sections_[section].sh_size;
  }

  static Segment segment_of(const Elf64_Shdr& section) {
    if (section.sh_flags & SHF_EXECINSTR) return Text;
    return section.sh_flags & SHF_WRITE ? Data : Constants;
  }

  // Code, with its stubs, then constants, then data, each on pages of its own.
  void lay_out() {
    place_.assign(sections_.size(), 0);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!is_loaded(i)) continue;
      std::size_t& used = used_[segment_of(sections_[i])];
      used = round_up(used, sections_[i].sh_addralign ? sections_[i].sh_addralign : 1);
      place_[i] = used;
      used += sections_[i].sh_size;
    }
    stub_.assign(symbols_.size(), no_stub);
    used_[Text] = round_up(used_[Text], alignof(Stub));
    for (std::size_t i = 1; i < symbols_.size(); ++i)
      if (needs_stub(symbols_[i])) {
        stub_[i] = used_[Text];
        used_[Text] += sizeof(Stub);
      }
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (int s = 0; s < segment_count; ++s) {
      start_[s] = total_;
      total_ += round_up(used_[s], page);
    }
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (is_loaded(i)) place_[i] += start_[segment_of(sections_[i])];
  }

  static bool needs_stub(const Elf64_Sym& s) { return s.st_shndx == SHN_UNDEF && s.st_name != 0; }

  const char* name_of(const Elf64_Sym& s) const {
    if (s.st_name >= names_.size()) malformed("a symbol without a name");
    return names_.data() + s.st_name;
  }

  void copy_sections() {
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (!is_loaded(i) || sections_[i].sh_type == SHT_NOBITS) continue;
      const Elf64_Shdr& section = sections_[i];
      if (section.sh_offset > object_.size() || section.sh_size > object_.size() - section.sh_offset)
        malformed("a section lies outside it");
      std::memcpy(base_ + place_[i], object_.data() + section.sh_offset, section.sh_size);
    }
    for (std::size_t i = 1; i < symbols_.size(); ++i) {
      if (stub_[i] == no_stub) continue;
      Stub stub;
      void* address = find_symbol(name_of(symbols_[i]));
      if (!address) malformed(std::string("nothing is named ") + name_of(symbols_[i]));
      stub.address = reinterpret_cast<std::uint64_t>(address);
      std::memcpy(base_ + stub_[i], &stub, sizeof stub);
    }
  }

  // The run-time address of a symbol; code outside is reached through its stub.
  std::uint64_t address_of(std::size_t index) const {
    const Elf64_Sym& s = symbols_[index];
    if (stub_[index] != no_stub) return reinterpret_cast<std::uint64_t>(base_ + stub_[index]);
    if (!is_loaded(s.st_shndx)) malformed(std::string("a symbol outside it: ") + name_of(s));
    return reinterpret_cast<std::uint64_t>(base_ + place_[s.st_shndx]) + s.st_value;
  }

  void relocate(const Elf64_Shdr& section) {
    const Elf64_Shdr& target = sections_[section.sh_info];
    for (const Elf64_Rela& r : table<Elf64_Rela>(section.sh_offset, section.sh_size / sizeof(Elf64_Rela))) {
      const std::uint32_t type = ELF64_R_TYPE(r.r_info);
      const std::size_t symbol = ELF64_R_SYM(r.r_info),
                        width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
      if (symbol >= symbols_.size() || r.r_offset > target.sh_size - width)
        malformed("a relocation lies outside it");
      std::byte* place = base_ + place_[section.sh_info] + r.r_offset;
      const std::uint64_t here = reinterpret_cast<std::uint64_t>(place),
                          addend = static_cast<std::uint64_t>(r.r_addend);
      switch (type) {
        case R_X86_64_64: {
          const std::uint64_t value = address_of(symbol) + addend;
          std::memcpy(place, &value, 8);
          break;
        }
        case R_X86_64_PC64: {
          const std::uint64_t value = address_of(symbol) + addend - here;
          std::memcpy(place, &value, 8);
          break;
        }
        case R_X86_64_PC32:
        case R_X86_64_PLT32:
          store_displacement(place, address_of(symbol) + addend - here);
          break;
        case R_X86_64_GOTPCREL:
        case R_X86_64_GOTPCRELX:
        case R_X86_64_REX_GOTPCRELX:
          if (stub_[symbol] == no_stub) malformed("an offset table entry for a symbol of its own");
          store_displacement(place, address_of(symbol) + offsetof(Stub, address) + addend - here);
          break;
        default:
          malformed("relocation type " + std::to_string(type));
      }
    }
  }

  static void store_displacement(std::byte* place, std::uint64_t value) {
    const auto low = static_cast<std::int32_t>(value);
    if (static_cast<std::uint64_t>(static_cast<std::int64_t>(low)) != value)
      malformed("a displacement overflows");
    std::memcpy(place, &low, 4);
  }

  void protect() {
    if (used_[Text] &&
        mprotect(base_ + start_[Text], start_[Constants] - start_[Text], PROT_READ | PROT_EXEC) != 0)
      malformed("its code cannot be made executable");
    if (used_[Constants] &&
        mprotect(base_ + start_[Constants], start_[Data] - start_[Constants], PROT_READ) != 0)
      malformed("its constants cannot be protected");
  }

  // For `perf`, when the environment asks for it: one line a function. The file's name is known beforehand,
  // in a directory of everybody's: what is no file of this user's own is left alone.
  void write_perf_map() const {
    static const bool wanted = [] {
      const char* value = getauxval(AT_SECURE) ? nullptr : std::getenv("APSIS_PERF_MAP");
      const std::string_view wish = value ? value : "off";
      return !wish.empty() && wish != "off" && wish != "0";
    }();
    if (!wanted) return;
    const std::string name = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    const int descriptor =
        open(name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (descriptor < 0) return;
    struct stat status;
    const bool ours = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                      status.st_uid == geteuid() && status.st_nlink == 1;
    std::FILE* file = ours ? fdopen(descriptor, "a") : nullptr;
    if (!file) {
      close(descriptor);
      return;
    }
    for (const Elf64_Sym& s : symbols_)
      if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && is_loaded(s.st_shndx))
        std::fprintf(file, "%llx %llx apsis:%s\n",
                     reinterpret_cast<unsigned long long>(base_ + place_[s.st_shndx] + s.st_value),
                     static_cast<unsigned long long>(s.st_size), name_of(s));
    std::fclose(file);
  }

  std::span<const std::byte> object_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<char> names_;
  std::vector<std::size_t> place_;  // by section: its offset in memory
  std::vector<std::size_t> stub_;   // by symbol: its stub's offset in memory
  std::size_t used_[segment_count] = {}, start_[segment_count] = {}, total_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace

std::unique_ptr<Code> load_object(std::span<const std::byte> object) { return Loader(object).load(); }

}  // namespace apsis::detail
