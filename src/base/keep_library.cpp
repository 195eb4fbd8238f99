#include "apsis/base/keep_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/exit.hpp"

namespace apsis::detail {
namespace {

/// The addresses of a library, or of the program itself.
struct Library {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address) const { return address - begin < end - begin; }
};

struct Search {
  std::uintptr_t address;
  Library found = {};
  std::string name = {};
};

int look(dl_phdr_info* info, std::size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  Library library{UINTPTR_MAX, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    library.begin = std::min(library.begin, begin);
    library.end = std::max(library.end, begin + part.p_memsz);
  }
  if (library.begin >= library.end || !library.holds(search.address)) return 0;
  search.found = library;
  if (info->dlpi_name) search.name = info->dlpi_name;
  return 1;
}

}  // namespace

void keep_library(const void* address) {
  // Those that stay: a program traces code of few of them.
  constexpr unsigned count = 8;
  thread_local Library kept[count];
  thread_local unsigned next = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Library& library : kept)
    if (library.holds(at)) return;
  const ExitLease lease;
  if (!lease) return;  // the process ends, and what it was given stays until then
  Search search{at};
  if (!dl_iterate_phdr(look, &search)) return;  // memory of its own
  // (The program itself has no name. The handle is never given back.)
  if (!search.name.empty() && !dlopen(search.name.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)) return;
  kept[next++ % count] = search.found;
}

}  // namespace apsis::detail
